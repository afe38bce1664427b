"""A node's own state: services, mounts, disks, devices and clock; read-only."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

OWN = "own"
SPOOL = "/var/spool/slurmd"
SECONDS = 5
"""How long a file system or the GPU driver may take to answer; one that hangs never does."""

SERVICES = ("slurmd", "munge", "slurmctld", "slurmdbd", "nvidia-fabricmanager")
DISKS = ("/", "/tmp", "/var/log", "/dev/shm")  # noqa: S108  # where jobs write, too
FULL_PERCENT = 98


@dataclass(frozen=True)
class OwnFacts:
    """The answers; a query without one leaves its field empty.

    `services` has the state of each installed service, `mounts` that of each shared folder
    (`mounted`, `absent` or `silent`), `disks` the used share of space or inodes, whichever is
    higher. `gpus` counts devices and those that the driver lists, None without a driver.
    """

    services: dict[str, str] = field(default_factory=dict)
    failed: tuple[str, ...] = ()
    mounts: dict[str, str] = field(default_factory=dict)
    disks: dict[str, int] = field(default_factory=dict)
    spool: str = ""
    gpus: int | None = None
    clock: int | None = None


def own_command(folders: Iterable[str], spool: str = SPOOL) -> str:
    """Return the command for a node's shell that prints its state."""
    spool = spool or SPOOL
    units = " ".join(SERVICES)
    disks = " ".join(map(shlex.quote, (*DISKS, spool)))
    shared = " ".join(map(shlex.quote, folders))
    return f"""\
date '+clock %s'
for unit in {units}; do
  echo "service $unit $(systemctl show "$unit" -p LoadState -p ActiveState | sort | tr '\\n' ' ')"
done
systemctl list-units --state=failed --plain --no-legend --no-pager | sed 's/^/failed /'
for path in {disks}; do
  echo "disk $path $(timeout {SECONDS} df --output=pcent,ipcent "$path" 2>/dev/null | tail -n 1)"
done
for path in {shared}; do
  timeout {SECONDS} sh -c 'mountpoint -q "$1" && stat -f "$1" >/dev/null' - "$path"
  echo "mount $path $?"
done
[ -d {shlex.quote(spool)} ] && echo spool there || echo spool absent
if command -v nvidia-smi >/dev/null; then
  echo "gpus $(timeout {4 * SECONDS} nvidia-smi -L 2>/dev/null | grep -c '^GPU')"
fi
"""


def read_own(answer: str) -> OwnFacts:
    """Read the output of `own_command`."""
    lines = [line.split() for line in answer.splitlines() if line.strip()]
    numbers = dict(_numbers(lines))
    return OwnFacts(
        services=dict(_services(lines)),
        failed=tuple(words[1] for words in lines if words[0] == "failed" and len(words) > 1),
        mounts={words[1]: _mount(words[2]) for words in lines if _is(words, "mount", 3)},
        disks=dict(_disks(lines)),
        spool=next((words[1] for words in lines if _is(words, "spool", 2)), ""),
        gpus=numbers.get("gpus"),
        clock=numbers.get("clock"),
    )


def _is(words: list[str], kind: str, count: int) -> bool:
    return words[0] == kind and len(words) == count


def _services(lines: list[list[str]]) -> Iterator[tuple[str, str]]:
    for words in lines:
        if words[0] == "service" and "LoadState=loaded" in words:
            states = [word.removeprefix("ActiveState=") for word in words if "ActiveState" in word]
            yield words[1], (states or [""])[0]


def _disks(lines: list[list[str]]) -> Iterator[tuple[str, int]]:
    for words in lines:
        shares = [word.rstrip("%") for word in words[2:]]
        known = [int(share) for share in shares if share.isdecimal()]
        if words[0] == "disk" and known:
            yield words[1], max(known)


def _mount(status: str) -> str:
    return {"0": "mounted", "124": "silent"}.get(status, "absent")


def _numbers(lines: list[list[str]]) -> Iterator[tuple[str, int]]:
    for words in lines:
        if words[0] in ("gpus", "clock") and len(words) == 2 and words[1].isdecimal():
            yield words[0], int(words[1])
