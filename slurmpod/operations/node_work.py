"""Carries out a plan for nodes, reports progress, and waits for the end.

Jobs leave first; an interruption leaves nodes drained, with a reason in Slurm by which the
same command continues.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.live_nodes import LiveNodes, Refusals
from slurmpod.operations.node_plan import FREES, Action, NodePlan, PlannedNode
from slurmpod.operations.node_progress import away, end_of, in_place_of, was_begun
from slurmpod.operations.slurm_remote import RemoteSlurm, SlurmView
from slurmpod.problems import first_of
from slurmpod.slurm.nodes import SlurmNode

Answer = TypeVar("Answer")

LOOK_SECONDS = 60
"""How long one look waits for jobs: AWS ends sessions that are silent for long."""

POLL_SECONDS = 3.0
AWAY_SECONDS = 60.0
"""The time in which HyperPod begins with an accepted node."""
REGISTRATION_SECONDS = 300.0
"""The time in which a running node registers with Slurm; later it will not."""
FAILED_ANSWERS = 10
"""The most failed answers in a row while waiting: AWS throttles, networks break."""
NAMES_SHOWN = 5

USUAL = {
    Action.REBOOT: "usually some minutes",
    Action.REPLACE: "usually 10 to 30 minutes, longer where capacity is scarce",
    Action.DELETE: "usually some minutes",
}


@dataclass(frozen=True)
class Outcome:
    """The outcome for one node: whether it succeeded, and a message."""

    name: str
    group: str
    instance_id: str
    succeeded: bool
    detail: str


@dataclass
class NodeWork:
    """The work of one plan. `tell` takes lines for people; `pause` is `time.sleep`."""

    live: LiveNodes
    slurm: RemoteSlurm
    tell: Callable[[str], None]
    pause: Callable[[float], None] = time.sleep
    _held: dict[str, str] = field(default_factory=dict)

    @property
    def held(self) -> tuple[str, ...]:
        """Nodes that a user had drained before; they stay drained."""
        return tuple(self._held)

    def run(self, plan: NodePlan, *, requeue: bool = False) -> tuple[Outcome, ...]:
        """Carry out the plan, and return the outcome for each node; raises AwsUnavailable."""
        if plan.action in FREES:
            self.free(plan, requeue=requeue)
        if plan.action is Action.DRAIN:
            return tuple(_succeeded(node, "drained") for node in plan.nodes)
        if plan.action is Action.RESUME:
            return self.give_back(plan.nodes, set())
        refused, begun = self._asked(plan)
        accepted = [node for node in plan.nodes if node.live.instance_id not in refused]
        failed = self._until_done(plan.action, accepted, begun)
        back = [node for node in plan.nodes if node.live.instance_id not in failed]
        ends = self._ends(plan.action, back, refused)
        ends += [_failed(node, failed[id_]) for node in accepted
                 if (id_ := node.live.instance_id) in failed]  # fmt: skip
        return tuple(sorted(ends, key=lambda end: (end.succeeded, end.group, end.name)))

    def _ends(
        self, action: Action, nodes: Sequence[PlannedNode], refused: Refusals
    ) -> list[Outcome]:
        """Resume nodes; a rejected node stays as it was before, and is reported as refused.

        So a node that an earlier run drained stays drained: HyperPod may be working on it.
        """
        if action is Action.DELETE:
            there = [node for node in nodes if node.live.instance_id in refused]
            gone = [_succeeded(node, "deleted") for node in nodes if node not in there]
        else:
            there, gone = list(nodes), []
        restarted = {node.name for node in there if node.live.instance_id not in refused}
        kept = {node.name for node in there if node.is_drained_for(action)} - restarted
        back = [node for node in there if node.name not in kept]
        given = {end.instance_id: end for end in self.give_back(back, restarted)}
        for node in there:
            id_ = node.live.instance_id
            given.setdefault(id_, _succeeded(node, self._left(node)))
            if id_ in refused:
                stays = "; it stays drained" if node.name in kept else ""
                given[id_] = _failed(node, f"refused: {refused[id_]}{stays}")
        return [*given.values(), *gone]

    def _left(self, node: PlannedNode) -> str:
        held = self._held.get(node.name)
        return f"back; still drained in Slurm, reason: {held}" if held else "back"

    def _ours(self, nodes: Iterable[PlannedNode]) -> list[PlannedNode]:
        """Return the nodes that Slurm knows, and that no other user holds."""
        return [node for node in nodes if node.slurm and node.name not in self._held]

    def free(self, plan: NodePlan, *, requeue: bool) -> None:
        """Drain nodes, and wait for their jobs; nodes that others hold keep their reason."""
        reason = plan.action.reason
        known = [node for node in plan.nodes if node.slurm]
        self._held = {
            node.name: node.slurm.reason
            for node in known
            if node.slurm and "DRAIN" in node.slurm.state and not node.slurm.is_held_for(reason)
        }
        fresh = [
            node.name
            for node in known
            if node.name not in self._held and node.slurm and not node.slurm.is_held_for(reason)
        ]
        self.slurm.drain(fresh, reason)
        if fresh:
            self.tell(f"no new jobs start on {first_of(fresh, NAMES_SHOWN)}")
        if requeue:
            jobs = self._looked([node.name for node in known]).jobs
            for id_, why in self.slurm.requeue(jobs).items():
                self.tell(f"job {id_} cannot be requeued; waiting for it: {why}")
        self._wait_for_jobs([node.name for node in known if not node.is_done])

    def _wait_for_jobs(self, names: Sequence[str]) -> None:
        said = ""
        seconds = 0
        while jobs := self._looked(names, seconds).jobs:
            waiting = f"waiting for {_jobs([job.id for job in jobs])}"
            if waiting != said:
                self.tell(f"{waiting} (Ctrl-C is safe: the nodes stay drained)")
            said, seconds = waiting, LOOK_SECONDS

    def _looked(self, names: Sequence[str], seconds: int = 0) -> SlurmView:
        return self.patiently(lambda: self.slurm.look(names, seconds=seconds))

    def _asked(self, plan: NodePlan) -> tuple[Refusals, Refusals]:
        """Request the action; return the rejections, and the nodes whose action began earlier."""
        ids = [node.live.instance_id for node in plan.nodes if not node.is_done]
        do = {
            Action.REBOOT: self.live.reboot,
            Action.REPLACE: self.live.replace,
            Action.DELETE: self.live.delete,
        }[plan.action]
        answer = do(ids) if ids else {}
        nodes = {node.live.instance_id: node for node in plan.nodes}
        begun = {id_: why for id_, why in answer.items()
                 if was_begun(plan.action, nodes[id_], why)}  # fmt: skip
        refused = {id_: why for id_, why in answer.items() if id_ not in begun}
        for id_, why in refused.items():
            self.tell(f"{nodes[id_].name}: refused: {why}")
        if len(refused) < len(ids):
            self.tell(f"HyperPod starts to {plan.action} the nodes: {USUAL[plan.action]}")
        return refused, begun

    def _until_done(
        self, action: Action, nodes: Sequence[PlannedNode], begun: Refusals
    ) -> Mapping[str, str]:
        """Wait until HyperPod is done; return failures by the former instance id.

        If a node of `begun` does not begin in time, HyperPod was busy with other work on it.
        """
        left = {node.live.instance_id: node for node in nodes if not node.is_done}
        failed: dict[str, str] = {}
        gone: set[str] = set()
        deadline = time.monotonic() + AWAY_SECONDS
        while left:
            there = self.patiently(self.live.all)
            gone |= away(left.values(), there)
            is_late = time.monotonic() > deadline
            for id_, node in list(left.items()):
                now = in_place_of(node, there)
                end = end_of(action, node, now, is_late=is_late, was_away=id_ in gone)
                if end is None and id_ in begun and id_ not in gone and is_late:
                    end = f"refused: {begun[id_]}; it stays drained"
                if end is None:
                    continue
                if end:
                    failed[id_] = end
                del left[id_]
                self.tell(f"{node.name}: {end or f'{action} done'}")
            if left:
                self.pause(POLL_SECONDS)
        return failed

    def give_back(
        self, nodes: Sequence[PlannedNode], restarted: Collection[str]
    ) -> tuple[Outcome, ...]:
        """Resume nodes once each has registered; return the outcome.

        `restarted` nodes have to register again. Nodes that others hold, and nodes unknown to
        Slurm, stay as they are.
        """
        left = {node.name: node for node in self._ours(nodes)}
        unregistered = set(restarted)
        ends: list[Outcome] = []
        deadline = time.monotonic() + REGISTRATION_SECONDS
        while left:
            view = self._looked(sorted(left))
            answering = [
                name
                for name, node in left.items()
                if _answers(node, view.nodes.get(name), is_new=name in unregistered)
            ]
            unregistered.difference_update(answering)
            self.slurm.resume([name for name in answering if view.nodes[name].is_held])
            after = self._looked(answering).nodes if answering else {}
            for name in answering:
                now = after.get(name)
                if now and not now.answers:  # slurmctld pings each resumed node again
                    continue
                node = left.pop(name)
                reason = f"Slurm holds it: {now.shown}, {now.reason}" if now and now.is_held else ""
                ends.append(_failed(node, reason) if reason else _succeeded(node, "takes jobs"))
            if left and time.monotonic() > deadline:
                why = "it has not registered with Slurm: see slurmd's log there"
                return (*ends, *(_failed(node, why) for node in left.values()))
            if left:
                self.pause(POLL_SECONDS)
        return tuple(ends)

    def patiently(self, ask: Callable[[], Answer]) -> Answer:
        """Retry while answers fail; raises AwsUnavailable when that persists."""
        for _ in range(FAILED_ANSWERS):
            try:
                return ask()
            except AwsUnavailable as error:
                self.tell(f"{error}; trying again")
                self.pause(POLL_SECONDS)
        return ask()


def _answers(node: PlannedNode, now: SlurmNode | None, *, is_new: bool) -> bool:
    """Return whether a node's slurmd answers, and has restarted if it had to."""
    if now is None or not now.answers:
        return False
    before = node.slurm.started if node.slurm else ""
    return not is_new or now.has_started_anew or now.started != before


def _jobs(ids: Sequence[str]) -> str:
    return f"job{'s' if len(ids) > 1 else ''} {first_of(ids, NAMES_SHOWN)}"


def _succeeded(node: PlannedNode, detail: str) -> Outcome:
    return Outcome(node.name, node.live.group, node.live.instance_id, succeeded=True, detail=detail)


def _failed(node: PlannedNode, detail: str) -> Outcome:
    return Outcome(
        node.name, node.live.group, node.live.instance_id, succeeded=False, detail=detail
    )
