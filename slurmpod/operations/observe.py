"""Looks at a live controller: what HyperPod has put there, to be compared with a platform profile.

It goes the way of `slurmpod lifecycle run`, through Session Manager. Nothing on the node changes,
and lines with passwords do not leave it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slurmpod.aws.deployment import Deployment, SessionNodes
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.environment.cluster import Role
from slurmpod.operations.connect import NodeSessions, command_session
from slurmpod.operations.questions import as_root, question, read_answers
from slurmpod.platform_profiles.observed import CONTROLLER_FILES
from slurmpod.resolve import Resolved, session_target

SLURM, SYSTEM = "slurm", "system"


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
    session = command_session(resolved.region, target, node_command())
    parts = read_answers(sessions.output(session), node.hostname)
    login = tuple(each.hostname for each in there if roles[each.group] is Role.LOGIN)
    software = f"{parts[SLURM].strip()}, {parts[SYSTEM].strip()}"
    files = {name: parts[name] for name in CONTROLLER_FILES}
    return Observation(node.hostname, files, software, login)


def node_command() -> str:
    """Return what a shell on a controller has to do; it only reads."""
    files = (
        question(name, f"if [ -e {name} ]; then grep -iv pass {name}; echo; fi")
        for name in CONTROLLER_FILES
    )
    system = '. /etc/os-release; echo "$PRETTY_NAME, kernel $(uname -r)"'
    return as_root(
        "cd /opt/slurm/etc || exit 1\n"
        + "".join(files)
        + question(SLURM, "/opt/slurm/bin/sinfo --version")
        + question(SYSTEM, system)
    )
