"""Software updates on the nodes of a live cluster, group by group, without harm to jobs.

HyperPod gives each node of a group a new root volume, and ends its processes. So jobs leave first;
after each group its nodes must be healthy, and a job must run, before the next one begins. Source:
developer guide, "Update the SageMaker HyperPod platform software of a cluster".
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from slurmpod.aws.cluster import Node
from slurmpod.aws.live_nodes import LiveNodes
from slurmpod.environment.cluster import Role
from slurmpod.operations.check_job import CheckedJob
from slurmpod.operations.node_plan import NodePlan
from slurmpod.operations.node_work import POLL_SECONDS, NodeWork, Outcome
from slurmpod.resolve import Resolved, ResolvedGroup

ORDER = (Role.CONTROLLER, Role.LOGIN, Role.WORKER)
"""Controllers first: their daemons must never be older than those of other nodes (Slurm's upgrade
guide), and the scripts of other nodes query the controller."""

ENDED = {"InService", "Failed"}
GOOD = "Succeeded"
UPDATING = "SystemUpdating"
"""The status of a cluster during an update: one that an interrupted command has started is
waited for."""


@dataclass(frozen=True)
class GroupPatch:
    """A group to patch, its nodes, and the nodes to drain meanwhile.

    While a controller restarts, no node may have a job: slurmctld's state is on its disk. Login
    nodes may have some, too, through HyperPod's partition of all nodes.
    """

    group: str
    role: Role
    nodes: tuple[Node, ...]
    freed: tuple[Node, ...]


def patches(
    resolved: Resolved, only: Sequence[str], live: Sequence[Node]
) -> tuple[GroupPatch, ...]:
    """Return the groups in order: all that have nodes, or the named ones."""
    chosen = [group for group in resolved.groups if not only or group.name in only]
    in_order = sorted(chosen, key=lambda group: ORDER.index(group.role))
    found = (_patch(group, resolved, live) for group in in_order)
    return tuple(each for each in found if each.nodes)


def _patch(group: ResolvedGroup, resolved: Resolved, live: Sequence[Node]) -> GroupPatch:
    others = {each.name for each in resolved.groups if each.role is not Role.CONTROLLER}
    freed = others if group.role is Role.CONTROLLER else {group.name}
    return GroupPatch(
        group.name,
        group.role,
        tuple(node for node in live if node.group == group.name),
        tuple(node for node in live if node.group in freed),
    )


@dataclass
class Rollout:
    """The work: one group after the other, stopping at the first failure.

    `check_job` runs a job after a group; None if no group has workers. `lacking` returns what
    groups lack to start slurmd beside a newer controller (see required_plugins).
    """

    work: NodeWork
    live: LiveNodes
    tell: Callable[[str], None]
    check_job: Callable[[GroupPatch], CheckedJob | None]
    lacking: Callable[[Sequence[Node]], Mapping[str, str]]
    pause: Callable[[float], None] = time.sleep
    _waiting: dict[str, str] = field(default_factory=dict)
    """What groups lack until they are patched."""

    def run(
        self, plans: Sequence[tuple[GroupPatch, NodePlan]], *, saves: bool, requeue: bool
    ) -> tuple[Outcome, ...]:
        """Patch the groups, and return each node's outcome; nodes of later groups are left out.

        `saves` saves the job records before a controller loses its disk.
        """
        ends: list[Outcome] = []
        groups = {patch.group for patch, _ in plans}
        for patch, planned in plans:
            plan = self._as_it_is_now(planned)
            self.work.free(plan, requeue=requeue)
            if patch.role is Role.CONTROLLER and saves:
                self.work.slurm.save_records()
            self.tell(f"{patch.group}: HyperPod is updating {len(patch.nodes)} nodes")
            ends += self._update(patch, plan, groups)
            if not all(end.succeeded for end in ends):
                self.tell(f"stopped at {patch.group}; later groups are unchanged")
                break
        return tuple(ends)

    def _as_it_is_now(self, plan: NodePlan) -> NodePlan:
        """Look at Slurm again: earlier groups have drained and resumed nodes."""
        view = self.work.patiently(lambda: self.work.slurm.look(plan.named()))
        nodes = (replace(node, slurm=view.nodes.get(node.name)) for node in plan.nodes)
        return replace(plan, nodes=tuple(nodes), jobs=view.jobs)

    def _update(self, patch: GroupPatch, plan: NodePlan, groups: Collection[str]) -> list[Outcome]:
        if self.live.software_update(patch.group).cluster_status != UPDATING:
            self.live.update_software(patch.group)
        failure = self._wait(patch.group)
        if failure:
            return [_end(node, failure) for node in patch.nodes]
        now = {node.instance_id: node.status for node in self.live.all()}
        states = {node: now.get(node.instance_id, "gone") for node in patch.nodes}
        bad = {node: state for node, state in states.items() if state != "Running"}
        if bad:
            return [_end(node, f"its status is {state}") for node, state in bad.items()]
        self._find_waiting(patch)
        there = [node for node in plan.nodes if node.live.group not in self._waiting]
        back = self.work.give_back(there, {node.name for node in patch.nodes})
        failed = [end for end in back if not end.succeeded]
        return failed or self._left_behind(patch, groups) or self._see_a_job_run(patch)

    def _find_waiting(self, patch: GroupPatch) -> None:
        """Find the groups whose slurmd does not start until they are patched, too."""
        self._waiting.pop(patch.group, None)
        if patch.role is Role.CONTROLLER:
            self._waiting |= self.work.patiently(lambda: self.lacking(patch.freed))
            for group, library in self._waiting.items():
                self.tell(f"{group}: no jobs until it is patched: {_lacks(library)}")

    def _left_behind(self, patch: GroupPatch, groups: Collection[str]) -> list[Outcome]:
        """Return the nodes that need a patch that was not requested."""
        return [
            _end(node, f"patch {node.group}, too: {_lacks(self._waiting[node.group])}")
            for node in patch.freed
            if node.group in self._waiting.keys() - set(groups)
        ]

    def _see_a_job_run(self, patch: GroupPatch) -> list[Outcome]:
        """Run a job, unless all groups that could run it wait."""
        waits = patch.role is not Role.WORKER and self._waiting
        job = None if waits else self.check_job(patch)
        if job:
            self.tell(f"{patch.group}: {job.detail}")
        failure = f"the test job failed: {job.detail}" if job and not job.succeeded else ""
        return [_end(node, failure) for node in patch.nodes]

    def _wait(self, group: str) -> str:
        """Wait until HyperPod is done; return why it failed, or an empty text."""
        while True:
            state = self.work.patiently(lambda: self.live.software_update(group))
            if state.cluster_status in ENDED:
                if state.status == GOOD:
                    return ""
                return f"the update ended as {state.status}: {state.message}"
            self.pause(POLL_SECONDS)


def _lacks(library: str) -> str:
    return f"slurmd there lacks {library}, which the updated controller requires"


def _end(node: Node, failure: str) -> Outcome:
    detail = failure or "has the new software"
    return Outcome(node.name, node.group, node.instance_id, not failure, detail)
