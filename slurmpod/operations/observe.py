"""Looks at a live controller: what HyperPod has put there, to be compared with a platform profile.

It goes the way of `slurmpod lifecycle run`, through Session Manager. Nothing on the node changes,
and lines with passwords do not leave it.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from slurmpod.aws.deployment import Deployment, SessionNodes
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.environment.cluster import Role
from slurmpod.operations.connect import NodeSessions, command_session
from slurmpod.platform_profiles.observed import CONTROLLER_FILES
from slurmpod.resolve import Resolved, session_target

MARK = "slurmpod-observes"
"""The word before the name of each thing in what the node prints."""

SLURM, SYSTEM, END = "slurm", "system", "end"

_COMMAND = f"""\
cd /opt/slurm/etc || exit 1
for file in {" ".join(CONTROLLER_FILES)}; do
    echo "{MARK} $file"
    if [ -e "$file" ]; then grep -iv pass "$file"; echo; fi
done
echo "{MARK} {SLURM}"; /opt/slurm/bin/sinfo --version
echo "{MARK} {SYSTEM}"; . /etc/os-release; echo "$PRETTY_NAME, kernel $(uname -r)"
echo "{MARK} {END}"
"""


@dataclass(frozen=True)
class Observation:
    """The files of a live controller by name, its software, and the names of login nodes."""

    node: str
    files: Mapping[str, str]
    software: str
    login_nodes: tuple[str, ...]


def observe(
    deployment: Deployment, nodes: SessionNodes, resolved: Resolved, sessions: NodeSessions
) -> Observation:
    """Look at the first controller that runs; raises AwsUnavailable where there is nothing."""
    roles = {group.name: group.role for group in resolved.groups}
    there = [node for node in deployment.cluster_nodes(resolved.name) if node.group in roles]
    running = [
        node for node in there if roles[node.group] is Role.CONTROLLER and node.status == "Running"
    ]
    if not running:
        raise AwsUnavailable(f"{resolved.name} has no controller that runs")
    node = running[0]
    target = session_target(nodes.cluster_id(resolved.name), node.group, node.instance_id)
    output = sessions.output(command_session(resolved.region, target, node_command()))
    parts = read_output(output)
    if END not in parts:
        said = [line for line in output.splitlines() if line.strip()] or ["nothing"]
        raise AwsUnavailable(f"{node.hostname} did not answer to the end: {'; '.join(said[-3:])}")
    login = tuple(each.hostname for each in there if roles[each.group] is Role.LOGIN)
    software = f"{parts[SLURM].strip()}, {parts[SYSTEM].strip()}"
    files = {name: parts[name] for name in CONTROLLER_FILES}
    return Observation(node.hostname, files, software, login)


def node_command() -> str:
    """Return what a shell on a controller has to do; it only reads."""
    return shlex.join(["sudo", "--non-interactive", "sh", "-c", _COMMAND])


def read_output(output: str) -> Mapping[str, str]:
    """Return what stands after each mark, by the name that the mark has."""
    parts: dict[str, str] = {}
    name = ""
    for line in output.splitlines():
        mark, _, rest = line.partition(" ")
        if mark == MARK:
            name = rest.strip()
            parts[name] = ""
        elif name:
            parts[name] += f"{line}\n"
    return parts
