"""The progress of HyperPod's reboots, replacements and deletions. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from slurmpod.aws.cluster import Node
from slurmpod.operations.node_plan import Action, PlannedNode

RUNNING, FAILURE = "Running", "Failure"

OTHER_WORK = {FAILURE, "SystemUpdating"}
"""Statuses that a node does not have during a reboot, replacement or deletion."""

BUSY_CODES = ("InstanceIdInUse", "NodeIdInUse", "InvalidInstanceStatus", "InvalidNodeStatus")
"""HyperPod's rejection of a node that it is working on (API reference, BatchRebootClusterNodes,
BatchReplaceClusterNodes, BatchDeleteClusterNodes)."""


def was_begun(action: Action, node: PlannedNode, refusal: str) -> bool:
    """Return whether a rejected node seems to be busy with the action of an interrupted run."""
    status = node.live.status
    if status in OTHER_WORK or not node.is_drained_for(action):
        return False
    return status != RUNNING or refusal.startswith(BUSY_CODES)


def away(nodes: Iterable[PlannedNode], there: Collection[Node]) -> set[str]:
    """Return the ids of nodes whose action has visibly begun."""
    now = {node.instance_id: node for node in there}
    ids = [node.live.instance_id for node in nodes]
    return {id_ for id_ in ids if id_ not in now or now[id_].status != RUNNING}


def in_place_of(node: PlannedNode, there: Collection[Node]) -> Node | None:
    """Return the node's current instance: the same one, or its successor by name."""
    same = [each for each in there if each.instance_id == node.live.instance_id]
    place = [each for each in there if each.name == node.name and each.group == node.live.group]
    return next(iter([*same, *place]), None)


def end_of(
    action: Action, node: PlannedNode, now: Node | None, *, is_late: bool, was_away: bool
) -> str | None:
    """Return why it failed, an empty text if it is done, and None while it is under way."""
    if now is not None and now.status == FAILURE:
        return f"{action} failed: {now.message or 'HyperPod does not say why'}"
    return "" if _is_done(action, node, now, is_late=is_late, was_away=was_away) else None


def _is_done(
    action: Action, node: PlannedNode, now: Node | None, *, is_late: bool, was_away: bool
) -> bool:
    """Return whether it is done; a node that was on its way before the request is the successor."""
    if action is Action.DELETE:
        return now is None or now.instance_id != node.live.instance_id
    if now is None or now.status != RUNNING:
        return False
    if action is Action.REPLACE:
        was_on_its_way = node.live.status not in {RUNNING, *OTHER_WORK}
        return was_on_its_way or now.instance_id != node.live.instance_id
    return was_away or is_late
