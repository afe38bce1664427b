"""Inspection of live nodes: what HyperPod has installed, to compare with a platform profile.

Connects through Session Manager, as `slurmpod lifecycle run` does, to one node of each group. There
it runs the lifecycle scripts' own program for these facts, which changes nothing and
leaves out anything that could be a secret.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection
from dataclasses import dataclass

from slurmpod.aws.cluster import ClusterView, Node
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.bundle.platform_facts import platform_facts_program
from slurmpod.environment.cluster import Role
from slurmpod.operations.connect import NodeSessions, command_session
from slurmpod.operations.questions import as_root, ask, question
from slurmpod.platform_profiles.image_differences import ObservedNode
from slurmpod.resolve import Resolved, session_target

FACTS = "facts"
"""The name of the one answer."""


@dataclass(frozen=True)
class Observation:
    """The first running node of each group, controllers before the others."""

    nodes: tuple[ObservedNode, ...]

    @property
    def first(self) -> str:
        """The name of the first inspected node: a controller, unless groups were named."""
        return self.nodes[0].name

    @property
    def software(self) -> str:
        """The versions on that node."""
        return ", ".join(self.nodes[0].now["versions"])


def observe(
    nodes: ClusterView, resolved: Resolved, sessions: NodeSessions, only: Collection[str] = ()
) -> Observation:
    """Inspect a node of each group, or of the named ones.

    Raises AwsUnavailable without an answer, without a controller, or without a node of a named
    group.
    """
    roles = {group.name: group.role for group in resolved.groups if group.name in only or not only}
    first: dict[str, Node] = {}
    for node in nodes.nodes(resolved.name):
        if node.group in roles and node.status == "Running":
            first.setdefault(node.group, node)
    order = sorted(first.values(), key=lambda node: [*Role].index(roles[node.group]))
    if only and (without := [name for name in only if name not in first]):
        raise AwsUnavailable(f"{', '.join(without)} of {resolved.name} has no running node")
    if not only and (not order or roles[order[0].group] is not Role.CONTROLLER):
        raise AwsUnavailable(f"{resolved.name} has no running controller")
    cluster_id = nodes.cluster_id(resolved.name)
    found = []
    for node in order:
        target = session_target(cluster_id, node.group, node.instance_id)
        answers = ask(sessions, command_session(target, node_command()), node.name)
        found.append(observed_node(node.name, roles[node.group], answers[FACTS]))
    return Observation(tuple(found))


def node_command() -> str:
    """Return the command for a node's shell; read-only."""
    return as_root(question(FACTS, shlex.join(["python3", "-c", platform_facts_program()])))


def observed_node(name: str, role: Role, answer: str) -> ObservedNode:
    """Return the facts from a node's program; raises AwsUnavailable for other output."""
    try:
        answered = json.loads(answer)
    except ValueError:
        raise AwsUnavailable(
            f"{name} did not print its facts, but: {answer.strip()[-200:]}"
        ) from None
    return ObservedNode(name, role, answered["now"], answered["at_first"] or {})
