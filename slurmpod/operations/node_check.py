"""HyperPod's deep health checks of nodes, on demand: which nodes, and their results.

Jobs leave first. HyperPod then holds the nodes in a Slurm reservation until they have passed, and
reboots or replaces failed ones. So the drain ends when the checks begin, not when they end: the
checks themselves are jobs. Source: developer guide, "Deep health checks" of clusters with
Slurm.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from slurmpod.aws.cluster import CHECKING, Node
from slurmpod.aws.cluster_operations import (
    DEEP_CHECK,
    IN_PROGRESS,
    ClusterOperation,
    ClusterOperations,
    GroupWork,
    of_node,
)
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.environment.cluster import Role
from slurmpod.operations.node_plan import Action, NodePlan, PlannedNode, chosen
from slurmpod.operations.node_progress import FAILURE, RUNNING, in_place_of
from slurmpod.operations.node_work import NodeWork, Outcome
from slurmpod.operations.slurm_remote import SlurmView
from slurmpod.resolve import Resolved, ResolvedGroup
from slurmpod.rules.groups import known_types

STRESS, CONNECTIVITY = "InstanceStress", "InstanceConnectivity"
SMALLEST_CONNECTION = 2
"""The number of nodes that a connectivity check needs."""

CHECK_POLL_SECONDS = 15.0
BEGIN_SECONDS = 600.0
"""The time in which an accepted check visibly begins."""


def nodes_of(live: Sequence[Node], names: Sequence[str]) -> tuple[Node, ...]:
    """Return nodes by host name, instance id or group; raises AwsUnavailable for an unknown one."""
    groups: dict[str, list[str]] = {}
    for node in live:
        groups.setdefault(node.group, []).append(node.instance_id)
    return chosen(live, [each for name in names for each in groups.get(name, [name])])


def wanted_checks(nodes: Iterable[Node], resolved: Resolved) -> tuple[GroupWork, ...]:
    """Return the checks for each group's nodes; raises AwsUnavailable if there can be none."""
    by_group: dict[str, list[str]] = {}
    for node in nodes:
        by_group.setdefault(node.group, []).append(node.instance_id)
    groups = {group.name: group for group in resolved.groups}
    refusals = [text for name in by_group if (text := _refusal(name, groups.get(name)))]
    if refusals:
        raise AwsUnavailable("\n".join(refusals))
    return tuple(
        GroupWork(name, tuple(ids), _checks(groups[name], len(ids)))
        for name, ids in by_group.items()
    )


def _refusal(name: str, group: ResolvedGroup | None) -> str:
    if group is None:
        return f"the environment has no group {name}: the type of its nodes is not known"
    if group.role is not Role.WORKER:
        return f"{name} is a {group.role}: HyperPod only checks workers"
    without = [facts.name for facts in known_types(group) if facts.accelerator_kind != "gpu"]
    if without:
        return f"{name} has {', '.join(without)}: deep health checks test NVIDIA GPUs"
    return ""


def _checks(group: ResolvedGroup, count: int) -> tuple[str, ...]:
    """Return all checks; the network check needs two nodes with EFA."""
    facts = known_types(group)
    has_efa = bool(facts) and all(each.efa_interfaces for each in facts)
    return (STRESS, CONNECTIVITY) if has_efa and count >= SMALLEST_CONNECTION else (STRESS,)


def plan_check(nodes: Sequence[Node], view: SlurmView) -> NodePlan:
    """Return the plan for a check of nodes."""
    planned = (PlannedNode(node, view.nodes.get(node.name)) for node in nodes)
    return NodePlan(Action.CHECK, tuple(planned), view.jobs)


def reports(
    nodes: Iterable[Node], view: SlurmView, checks: Sequence[ClusterOperation]
) -> Iterator[Outcome]:
    """Yield each node's state and last deep health check; it is well if it takes jobs."""
    for node in nodes:
        slurm = view.nodes.get(node.name)
        is_well = node.status == RUNNING and (slurm is None or not slurm.is_held)
        words = [node.status + (f" ({node.message})" if node.message else "")]
        if slurm:
            words.append(slurm.shown + (f" ({slurm.reason})" if slurm.reason else ""))
        words.append(_last_check(of_node(checks, node.group, node.instance_id)))
        yield Outcome(node.name, node.group, node.instance_id, is_well, "; ".join(words))


def _last_check(check: ClusterOperation | None) -> str:
    if check is None:
        return "no deep health check of this instance is known"
    kinds = dict.fromkeys(kind for each in check.groups for kind in each.checks)
    state = "under way" if check.status == IN_PROGRESS else "ended"
    return f"deep health check of {check.began:%Y-%m-%d %H:%M} ({', '.join(kinds)}) {state}"


@dataclass
class DeepCheck:
    """One request for checks, from draining to the last node's result."""

    work: NodeWork
    operations: ClusterOperations
    _known: set[str] = field(default_factory=set)
    _seen: dict[str, set[str]] = field(default_factory=dict)

    def run(
        self, plan: NodePlan, checks: Sequence[GroupWork], *, requeue: bool
    ) -> tuple[Outcome, ...]:
        """Check nodes, and return their results; raises AwsUnavailable."""
        fresh = tuple(node for node in plan.nodes if node.live.status != CHECKING)
        ours = [node for node in plan.nodes if node in fresh or node.is_drained_for(plan.action)]
        if fresh:
            self.work.free(NodePlan(plan.action, fresh, plan.jobs), requeue=requeue)
            refusal = self._asked(_only(checks, fresh))
            if refusal:
                self.work.give_back(ours, set())
                return tuple(_ended(node, node.live, f"refused: {refusal}") for node in plan.nodes)
            self.work.tell("HyperPod is checking the nodes: usually an hour or more")
        ends = {end.name: end for end in self._until_done(plan.nodes, ours)}
        return tuple(ends[node.name] for node in plan.nodes)

    def _asked(self, checks: Sequence[GroupWork]) -> str:
        """Send the request; return why HyperPod rejected it, or an empty text."""
        self._known = {each.id for each in self.operations.newest(Type=DEEP_CHECK)}
        try:
            self.operations.start_checks(checks)
        except AwsUnavailable as refusal:
            return str(refusal)
        return ""

    def _until_done(
        self, nodes: Sequence[PlannedNode], ours: Sequence[PlannedNode]
    ) -> Iterator[Outcome]:
        """Yield each node's result as it comes; resume `ours` once their check has begun."""
        left, drained = list(nodes), list(ours)
        deadline = time.monotonic() + BEGIN_SECONDS
        while left:
            there = self.work.patiently(self.work.live.all)
            checks = self.work.patiently(lambda: self.operations.newest(Type=DEEP_CHECK))
            is_late = time.monotonic() > deadline
            now = {node.name: in_place_of(node, there) for node in left}
            for node in left:
                place = now[node.name]
                self._seen.setdefault(node.name, set()).update({place.status} if place else ())
            begun = [node for node in drained if is_late or self._has_begun(node, checks)]
            drained = [node for node in drained if node not in begun]
            self._give_back(begun)
            for node in list(left):
                end = self._end_of(node, now[node.name], checks, is_late=is_late)
                if end is not None:
                    left.remove(node)
                    self.work.tell(f"{node.name}: {end.detail}")
                    yield end
            if left:
                self.work.pause(CHECK_POLL_SECONDS)

    def _give_back(self, nodes: Sequence[PlannedNode]) -> None:
        for end in self.work.give_back(nodes, set()):
            if not end.succeeded:
                self.work.tell(f"{end.name}: {end.detail}")

    def _has_begun(self, node: PlannedNode, checks: Sequence[ClusterOperation]) -> bool:
        """Return whether HyperPod holds the node, or has finished with it."""
        return CHECKING in self._seen[node.name] or self._has_ended(node, checks)

    def _has_ended(self, node: PlannedNode, checks: Sequence[ClusterOperation]) -> bool:
        check = of_node(checks, node.live.group, node.live.instance_id)
        return check is not None and check.id not in self._known and check.status != IN_PROGRESS

    def _end_of(
        self,
        node: PlannedNode,
        now: Node | None,
        checks: Sequence[ClusterOperation],
        *,
        is_late: bool,
    ) -> Outcome | None:
        """Return a node's result; None while the check is under way."""
        if now is not None and now.status == FAILURE:
            return _ended(node, now, f"failed: {now.message or 'HyperPod does not say why'}")
        if now is None or now.status != RUNNING:
            return None
        if now.instance_id != node.live.instance_id:
            return _ended(node, now, f"failed: HyperPod has replaced it with {now.instance_id}")
        if self._seen[node.name] - {RUNNING, CHECKING}:
            return _ended(node, now, "failed: HyperPod has rebooted it")
        if self._has_begun(node, checks):
            return _ended(node, now, "passed", succeeded=True)
        return _ended(node, now, "HyperPod did not start the check") if is_late else None


def _only(checks: Sequence[GroupWork], nodes: Sequence[PlannedNode]) -> tuple[GroupWork, ...]:
    """Return the checks for these nodes only: others are already being checked."""
    ids = {node.live.instance_id for node in nodes}
    left = [replace(each, instance_ids=tuple(id_ for id_ in each.instance_ids if id_ in ids))
            for each in checks]  # fmt: skip
    return tuple(each for each in left if each.instance_ids)


def _ended(node: PlannedNode, now: Node, detail: str, *, succeeded: bool = False) -> Outcome:
    return Outcome(node.name, now.group, now.instance_id, succeeded, detail)
