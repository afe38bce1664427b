"""The files of a profile's image, including Slurm's units, on a node's disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slurmpod.platform_profiles.profile import Agents, Image, Unit
from slurmpod.rehearsal.nodes.sandbox import GATEWAY_ADDRESS
from slurmpod.rehearsal.nodes.spec import File

UNITS = "/etc/systemd/system"
PLUGSTACK = "/opt/slurm/etc/plugstack.conf"


def files_of(image: Image) -> Mapping[str, File]:
    """Return the world-readable files by path, including units."""
    units = {f"{UNITS}/{name}.service": unit_text(unit) for name, unit in image.units.items()}
    texts = {**image.files, **units}
    return {path: File(text.encode(), mode=0o644) for path, text in texts.items()}


def files_of_agents(agents: Agents) -> Mapping[str, File]:
    """Return the files of HyperPod's agents: logs, and Slurm's plugin for the cluster agent."""
    plugin = f"required auto_resume.so agent={GATEWAY_ADDRESS}:{agents.cluster_agent_port}\n"
    logs = (agents.logs.cluster_agent, agents.logs.host_agent, agents.logs.role_proxy_agent)
    return {
        PLUGSTACK: File(plugin.encode(), mode=0o644),
        **{path: File(b"", mode=0o644) for path in logs},
        agents.logs.autoresume: File(b"", mode=0o666),  # written by users' steps
    }


def environment_file(unit: Unit) -> str:
    """Return the path of a service's file of options; the unit must name one."""
    return unit["Service"]["EnvironmentFile"].splitlines()[-1].lstrip("-")


def unit_text(unit: Unit) -> str:
    """Return a unit in systemd's format."""
    return "\n".join(_lines(unit))


def _lines(unit: Unit) -> Iterator[str]:
    for section, words in unit.items():
        yield f"[{section}]"
        for key, values in words.items():
            yield from (f"{key}={value}" for value in values.splitlines())
        yield ""
