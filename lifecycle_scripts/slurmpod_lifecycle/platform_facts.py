"""What HyperPod itself has installed on this node: the facts in a profile for rehearsals.

The lifecycle scripts import this module for their report. It is also a program: jobs call it on
nodes as `slurmpod-facts`, and `slurmpod observe` sends it through a session. So it needs only
Python. It changes nothing, and leaves out what could be a secret.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

IMAGE_FACTS = "/etc/slurmpod/image.json"
"""The file where the scripts record these and other facts before they change anything."""

ETC = "/opt/slurm/etc"
SERVICES = ("slurmctld", "slurmd", "slurmdbd")
ACCOUNTING_CONF = "accounting.conf"
AGENT_LOGS = "/var/log/aws/clusters"
SLURM_FILES = ("slurm.conf", "gres.conf", "cgroup.conf", "topology.conf", "plugstack.conf")
PYXIS = (
    "/opt/slurm/lib/slurm/spank_pyxis.so",
    "/usr/local/lib/slurm/spank_pyxis.so",
    "/usr/lib/slurm/spank_pyxis.so",
)
USERS = ("ubuntu",)
METADATA = "http://169.254.169.254/latest/meta-data/"
SECRET = re.compile("pass|secret|token|credential|(access|private|api).?key", re.IGNORECASE)
TIMEOUT_SECONDS = 30


class Asked(Protocol):
    """A node that can be queried; the answer is None for what it does not have."""

    def said(self, *command: str) -> str | None:
        """Return the output of a command, or None if it failed."""

    def read(self, path: str) -> str | None:
        """Return the text of a file."""


class ThisNode:
    """The node that this program runs on."""

    def said(self, *command: str) -> str | None:
        """Return the output of a command, or None if it failed."""
        try:
            ended = subprocess.run(
                command,
                capture_output=True,
                check=True,
                encoding="utf-8",
                errors="replace",
                timeout=TIMEOUT_SECONDS,
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return ended.stdout

    def read(self, path: str) -> str | None:
        """Return the text of a file, or None if this user cannot read one."""
        try:
            return Path(path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None


def platform_facts(node: Asked) -> dict[str, object]:
    """Return the facts as JSON data; null for unknown ones."""
    units = _units(node)
    return {
        "versions": _versions(node),
        "slurm_trees": _slurm_trees(node),
        "interface": _interface(node),
        "users": {user: _number(node.said("id", "-u", user)) for user in USERS},
        "disks": _disks(node.read("/proc/self/mounts") or ""),
        "metadata_needs_token": _metadata_needs_token(node),
        "agent_logs": _names(node.said("find", f"{AGENT_LOGS}/", "-maxdepth", "1", "-type", "f")),
        "software": _software(node),
        "units": units,
        "options": {path: _variables(node.read(path)) for path in _option_files(units)},
        "etc": _names(node.said("find", f"{ETC}/", "-maxdepth", "2", "-type", "f")),
        "accounting_conf": _text(node, ACCOUNTING_CONF),
        "slurm_files": {name: text for name in SLURM_FILES if (text := _text(node, name))},
    }


def without_secrets(text: str) -> str:
    """Return a text without lines that may hold a secret."""
    return "".join(f"{line}\n" for line in text.splitlines() if not SECRET.search(line))


def _versions(node: Asked) -> list[str]:
    os_name = re.search(r'^PRETTY_NAME="?([^"\n]*)', node.read("/etc/os-release") or "", re.M)
    found = (
        node.said("/opt/slurm/bin/sinfo", "--version"),
        os_name and os_name[1],
        node.said("uname", "--kernel-release"),
    )
    return [each.strip() for each in found if each]


def _slurm_trees(node: Asked) -> list[str] | None:
    """Return Slurm's folders in /opt, with the one in use last."""
    used = node.said("readlink", "--canonicalize", "/opt/slurm")
    if not used:
        return None
    found = node.said("find", "/opt", "-maxdepth", "1", "-type", "d", "-name", "slurm-*") or ""
    names = [path.rpartition("/")[2] for path in (*sorted(found.split()), used.strip())]
    return [*(name for name in dict.fromkeys(names) if name != names[-1]), names[-1]]


def _interface(node: Asked) -> str | None:
    route = node.said("ip", "-oneline", "route", "show", "default") or ""
    found = re.search(r"\bdev (\S+)", route)
    return found[1] if found else None


def _disks(mounts: str) -> list[str]:
    """Return the folders below /opt that are separate mounts."""
    fields = (line.split()[:2] for line in mounts.splitlines())
    return sorted(
        path for source, path in fields if source.startswith("/dev/") and path.startswith("/opt/")
    )


def _metadata_needs_token(node: Asked) -> bool | None:
    """Request metadata without a token; only the status of the answer is used."""
    said = node.said("curl", "-sm2", "-w%{http_code}", METADATA) or ""
    return {"200": False, "401": True}.get(said[-3:])


def _software(node: Asked) -> dict[str, bool]:
    modules = ("find", "/usr/lib", "-maxdepth", "3", "-name", "pam_slurm_adopt.so")
    return {
        "docker": node.said("which", "docker") is not None,
        "enroot": node.said("which", "enroot") is not None,
        "pyxis": any(node.said("test", "-e", path) is not None for path in PYXIS),
        "mariadb": node.said("systemctl", "cat", "mariadb") is not None,
        "pam_slurm_adopt": bool(node.said(*modules)),
    }


def _units(node: Asked) -> dict[str, str]:
    """Return the texts of Slurm's units, without drop-ins."""
    shown = node.said("systemctl", "show", "--property=Id,FragmentPath", *SERVICES) or ""
    found = {}
    for block in shown.split("\n\n"):
        values = dict(line.partition("=")[::2] for line in block.splitlines())
        text = node.read(values.get("FragmentPath") or "/nowhere")
        if text is not None:
            found[values.get("Id", "").removesuffix(".service")] = without_secrets(text)
    return found


def _option_files(units: dict[str, str]) -> list[str]:
    texts = "\n".join(units.values())
    return sorted(set(re.findall(r"^EnvironmentFile=-?(/\S+)", texts, re.M)))


def _variables(text: str | None) -> list[str] | None:
    """Return the variable names in a file of options, without their values."""
    return None if text is None else re.findall(r"^\s*(?:export\s+)?(\w+)=", text, re.M)


def _names(found: str | None) -> list[str]:
    return sorted(
        path.removeprefix(f"{ETC}/").removeprefix(f"{AGENT_LOGS}/")
        for path in (found or "").split()
    )


def _text(node: Asked, name: str) -> str | None:
    text = node.read(f"{ETC}/{name}")
    return None if text is None else without_secrets(text)


def _number(said: str | None) -> int | None:
    return int(said) if said and said.strip().isdigit() else None


def noted(text: str | None) -> dict[str, object]:
    """Return the contents of IMAGE_FACTS, or nothing for a partial file of an interrupted run."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def main(_: Sequence[str] = ()) -> None:
    """Print the current facts and those that the scripts recorded, as one line of JSON."""
    node = ThisNode()
    first = noted(node.read(IMAGE_FACTS)).get("platform")
    sys.stdout.write(json.dumps({"now": platform_facts(node), "at_first": first}) + "\n")


if __name__ == "__main__":
    main()
