"""The plan of a `slurmpod node` command: its nodes, and their running jobs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from slurmpod.aws.cluster import Node
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.environment.cluster import Role
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.operations.slurm_remote import SlurmView
from slurmpod.problems import first_of
from slurmpod.resolve import Resolved
from slurmpod.slurm.nodes import SlurmNode
from slurmpod.slurm.queue import QueuedJob

NAMES_SHOWN = 8


class Action(StrEnum):
    """An action on nodes."""

    DRAIN = "drain"
    RESUME = "resume"
    REBOOT = "reboot"
    REPLACE = "replace"
    DELETE = "delete"
    CHECK = "check"
    PATCH = "patch"

    @property
    def reason(self) -> str:
        """Return the drain reason in Slurm while nodes wait for the action."""
        return "slurmpod patch" if self is Action.PATCH else f"slurmpod node {self}"


OF_SLURM = {Action.DRAIN, Action.RESUME}
"""Actions in Slurm only, which need a node that Slurm knows."""

NOT_CONTROLLERS = {Action.REPLACE, Action.DELETE}
"""Actions that HyperPod rejects for controllers (API reference, BatchReplaceClusterNodes,
BatchDeleteClusterNodes)."""

FREES = {
    Action.DRAIN,
    Action.REBOOT,
    Action.REPLACE,
    Action.DELETE,
    Action.CHECK,
    Action.PATCH,
}
"""Actions before which nodes are drained."""

COMES_BACK = {Action.REBOOT, Action.REPLACE}
"""Actions after which nodes take jobs again."""


@dataclass(frozen=True)
class PlannedNode:
    """A node, its state in Slurm (None: unknown there), and whether the action is already done.

    It is done if an earlier run was interrupted: only the resume is left.
    """

    live: Node
    slurm: SlurmNode | None
    is_done: bool = False

    @property
    def name(self) -> str:
        """The node's name in Slurm."""
        return self.live.name

    def is_drained_for(self, action: Action) -> bool:
        """Return whether an earlier run has drained it for this action."""
        return self.slurm is not None and self.slurm.is_held_for(action.reason)


@dataclass(frozen=True)
class NodePlan:
    """An action, its nodes, and the jobs that run on them."""

    action: Action
    nodes: tuple[PlannedNode, ...]
    jobs: tuple[QueuedJob, ...] = ()

    def named(self, *, in_slurm: bool = False) -> tuple[str, ...]:
        """Return the names of the nodes, or of those that Slurm knows."""
        return tuple(node.name for node in self.nodes if node.slurm or not in_slurm)


def chosen(live: Sequence[Node], names: Sequence[str]) -> tuple[Node, ...]:
    """Return nodes by host name or instance id; raises AwsUnavailable for an unknown one."""
    by_name = {key: node for node in live for key in (node.name, node.instance_id)}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        there = first_of([f"{node.name} ({node.group})" for node in live], NAMES_SHOWN)
        guess = " ".join(filter(None, (did_you_mean(unknown[0], by_name), "the nodes are")))
        raise AwsUnavailable(f"unknown node {', '.join(unknown)}; {guess} {there or 'none'}")
    return tuple(dict.fromkeys(by_name[name] for name in names))


def plan_action(
    action: Action, nodes: Sequence[Node], view: SlurmView, resolved: Resolved
) -> NodePlan:
    """Return the plan; raises AwsUnavailable for nodes that cannot have the action."""
    refusals = list(_refusals(action, nodes, view, resolved))
    if refusals:
        raise AwsUnavailable("\n".join(refusals))
    planned = (_planned(action, node, view.nodes.get(node.name)) for node in nodes)
    return NodePlan(action, tuple(planned), view.jobs)


def _refusals(
    action: Action, nodes: Sequence[Node], view: SlurmView, resolved: Resolved
) -> Iterator[str]:
    controllers = {group.name for group in resolved.groups_with(Role.CONTROLLER)}
    for node in nodes:
        name = f"{node.name} ({node.group})"
        if action in NOT_CONTROLLERS and node.group in controllers:
            yield f"{name} is a controller, which HyperPod cannot {action}; reboot it instead"
        elif action in OF_SLURM and node.name not in view.nodes:
            yield f"{name} is not in Slurm, so there is nothing to {action}"


def _planned(action: Action, node: Node, slurm: SlurmNode | None) -> PlannedNode:
    """Return whether an earlier run has already restarted the node."""
    is_done = bool(
        action in COMES_BACK
        and slurm
        and slurm.is_held_for(action.reason)
        and slurm.has_started_anew
    )
    return PlannedNode(node, slurm, is_done)
