"""Choice of the checks that are due, and of those that must end for a user's job. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from slurmpod_checks.harvest import Instances
from slurmpod_checks.judge import LEAST_OTHERS, is_good, is_suspect
from slurmpod_checks.records import ALONE, IN_PAIR, IN_RING, NodeRecord, State
from slurmpod_checks.remarks import calls_for_pairs
from slurmpod_checks.settings import ChecksSettings
from slurmpod_checks.slurm import IDLE, Job
from slurmpod_health.node_state import NodeState

MOST_AT_ONCE = 8
"""The limit of nodes under check at once: they share storage and network with busy nodes."""

RETRY_SECONDS = 600
"""How long a node is skipped after a check that ended without a result."""

START_SECONDS = 10
"""Slurm starts a check within moments, or its nodes are no longer free."""

BEFORE_ITS_END = frozenset({"PENDING", "CONFIGURING", "RUNNING"})
HOUR = 3600
LEAST_OF_RING = 3
"""Two nodes are a pair."""


@dataclass(frozen=True)
class View:
    """Everything that a round has read."""

    settings: ChecksSettings
    state: State
    nodes: Mapping[str, NodeState]
    jobs: Sequence[Job]
    instances: Instances
    now: int

    def is_needed(self, name: str) -> bool:
        """Return whether a user's job is waiting for nodes of one of this node's partitions."""
        node = self.nodes.get(name)
        waiting = (job.partitions for job in self.jobs if job.waits_for_nodes)
        return node is not None and any(node.partitions & each for each in waiting)


def in_the_way(view: View) -> list[str]:
    """Return the checks to end: a user needs their nodes, or they do not start.

    A check that the state does not know was submitted by a round that was interrupted.
    """
    ours = [job for job in view.jobs if job.is_check and job.state in BEFORE_ITS_END]
    return [job.id for job in ours if _is_in_the_way(view, job)]


def _is_in_the_way(view: View, job: Job) -> bool:
    check = view.state.jobs.get(job.id)
    if check is None or any(map(view.is_needed, check.nodes)):
        return True
    return job.state == "PENDING" and view.now - check.began >= START_SECONDS


def due(view: View) -> Iterator[tuple[str, ...]]:
    """Yield the nodes of each check that may start now: a single node, a pair, or a ring."""
    busy = {name for check in view.state.jobs.values() for name in check.nodes}
    room = MOST_AT_ONCE - len(busy)
    free = [name for name in _free(view) if name not in busy]
    alone = [name for name in free if _is_due(view, name, ALONE)]
    pairs = list(_pairs(view, [name for name in free if name not in alone]))
    for nodes in [*((name,) for name in alone), *pairs]:
        if len(nodes) <= room:
            room -= len(nodes)
            yield nodes
    begun = {*busy, *alone, *(name for pair in pairs for name in pair)}
    yield from _rings(
        view, free, {view.instances[name].group for name in begun & {*view.instances}}
    )


def _rings(view: View, free: Sequence[str], busy: Collection[str]) -> Iterator[tuple[str, ...]]:
    """Yield all idle nodes of a group without other checks, if enough of them are due.

    They exchange data only among themselves and use nothing that is shared, so a ring may be large.
    """
    for group in view.settings.ring_bounds:
        nodes = tuple(name for name in free if view.instances[name].group == group)
        due_ones = [name for name in nodes if _is_due(view, name, IN_RING)]
        if group not in busy and len(due_ones) >= LEAST_OF_RING:
            yield nodes


def _free(view: View) -> list[str]:
    """Return the idle nodes of the checked groups that no job is waiting for."""
    return sorted(
        name
        for name, node in view.nodes.items()
        if node.words <= IDLE
        and name in view.instances
        and view.instances[name].group in view.settings.groups
        and not view.is_needed(name)
        and not _has_just_failed(view, name)
    )


def _has_just_failed(view: View, name: str) -> bool:
    record = _record(view, name)
    is_recent = view.now - record.failed_at < RETRY_SECONDS
    return is_recent and record.failed_at > record.wanted_at


def _is_due(view: View, name: str, kind: str) -> bool:
    if not view.settings.of(kind):
        return False
    is_pair = kind == IN_PAIR
    if is_pair and view.instances[name].group not in view.settings.pair_groups:
        return False
    record = _record(view, name)
    last = record.latest(kind)
    is_other = last is not None and last.instance != view.instances[name].id
    due_at = last.at + view.settings.every_hours * HOUR if last else 0
    is_wanted = last is not None and last.at <= record.wanted_at
    is_half_known = is_pair and _is_one_of_three(view, name) and len(_met(view, name)) < 2
    is_called = is_pair and calls_for_pairs(record)
    return is_other or is_wanted or is_half_known or is_called or view.now >= due_at


def _is_one_of_three(view: View, name: str) -> bool:
    """Return whether the group has only three nodes, so that two pairs may contain the bad one."""
    group = view.instances[name].group
    return sum(each.group == group for each in view.instances.values()) == LEAST_OTHERS + 1


def _met(view: View, name: str) -> set[str]:
    return {each.partner for each in _record(view, name).pairs}


def _pairs(view: View, free: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs: good partners for suspects that need a second opinion, else other due nodes."""
    left = list(free)
    share = view.settings.least_share
    suspects = [name for name in left if is_suspect(name, view.state.nodes, share)]
    first = [*suspects, *(name for name in left if name not in suspects)]
    for name in first:
        if name not in left:
            continue
        is_second = name in suspects
        if not is_second and not _is_due(view, name, IN_PAIR):
            continue
        if partner := _partner(view, name, left, is_second=is_second):
            left.remove(name)
            left.remove(partner)
            yield name, partner


def _partner(view: View, name: str, left: Sequence[str], *, is_second: bool) -> str | None:
    state, share = view.state.nodes, view.settings.least_share
    last = _record(view, name).latest(IN_PAIR)
    group = view.instances[name].group
    others = [other for other in left if other != name and view.instances[other].group == group]
    if is_second:
        before = last.partner if last else ""
        good = (each for each in others if each != before and is_good(each, state, share, name))
        return next(good, None)
    met = _met(view, name)
    others.sort(key=lambda each: (each in met, not _is_due(view, each, IN_PAIR)))
    return next((each for each in others if not is_suspect(each, state, share)), None)


def _record(view: View, name: str) -> NodeRecord:
    return view.state.nodes.get(name, NodeRecord(view.instances[name].group))
