"""The last deployment as bars along one axis of time, and its critical path. Pure.

Dependencies are derived from the times alone: a resource waited for the one that ended last before
it began. That holds for CloudFormation, which creates a resource as soon as its dependencies exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from slurmpod.aws.stack_events import ResourceRun, StackRun
from slurmpod.operations.lifecycle import NodeReport

CLUSTER = "AWS::SageMaker::Cluster"
PAUSE = timedelta(minutes=15)
"""A longer pause between two stacks separates deployments."""

SLACK = timedelta(seconds=2)
"""How much later than the cluster's end a node's report may reach CloudWatch Logs."""

TOLD_SHARE = 0.02
"""A resource, or a part of the critical path, below this share of the time has no name."""

MOST_NODES = 12
TICKS = 6


@dataclass(frozen=True)
class NodeRun:
    """How one node came up: the times of its launch, its scripts' begin and end, and its report."""

    report: NodeReport
    began: datetime
    scripts_began: datetime
    ended: datetime


@dataclass(frozen=True)
class Bar:
    """One line of the picture, in seconds from the beginning; `level` indents it.

    `first_seconds` of a node are those before its scripts. `failure` is empty for a success.
    """

    kind: str
    level: int
    name: str
    detail: str
    began: float
    seconds: float
    is_critical: bool
    first_seconds: float = 0.0
    failure: str = ""


@dataclass(frozen=True)
class Link:
    """A part of the critical path: its place, its name and its duration."""

    place: str
    what: str
    seconds: float


@dataclass(frozen=True)
class Timeline:
    """A deployment; `short` resources and `other_nodes` have no bar, `earlier` stacks no part."""

    began: datetime
    seconds: float
    ticks: tuple[float, ...]
    bars: tuple[Bar, ...]
    links: tuple[Link, ...]
    short: int
    other_nodes: int
    earlier: tuple[StackRun, ...]


def node_runs(
    reports: Iterable[NodeReport], launched: Mapping[str, datetime]
) -> tuple[NodeRun, ...]:
    """Return how the nodes with a report came up, without those that are gone."""
    return tuple(_node_runs(reports, launched))


def _node_runs(
    reports: Iterable[NodeReport], launched: Mapping[str, datetime]
) -> Iterator[NodeRun]:
    for report in reports:
        if report.ended and report.instance_id in launched:
            ended = datetime.fromisoformat(report.ended)
            began = ended - timedelta(seconds=report.seconds)
            launch = launched[report.instance_id]
            yield NodeRun(report, min(launch, began), began, ended)


def timeline_of(
    runs: Sequence[StackRun], nodes: Sequence[NodeRun], now: datetime
) -> Timeline | None:
    """Lay out the last deployment; None if there was none. Unfinished work ends `now`."""
    last, earlier = _last_deployment(runs, now)
    if not last:
        return None
    began = last[0].began
    axis = _Axis(began, max((run.ended or now) - began for run in last).total_seconds(), now)
    stacks = _chain(last, now)
    critical = {id(each) for run in stacks for each in (run, *_chain(run.resources, now))}
    bars: list[Bar] = []
    short = other_nodes = 0
    for run in last:
        bars.append(axis.stack(run, is_critical=id(run) in critical))
        named = [each for each in run.resources if axis.has_bar(each, id(each) in critical)]
        short += len(run.resources) - len(named)
        for resource in named:
            bars.append(axis.resource(resource, is_critical=id(resource) in critical))
            within = _within(resource, nodes, now)
            shown = _chosen(within)
            other_nodes += len(within) - len(shown)
            slowest = max(within, key=lambda node: node.ended, default=None)
            bars += [axis.node(each, is_critical=each is slowest) for each in shown]
    links = _folded(_links(stacks, nodes, now), stacks, axis)
    ticks = _ticks(axis.seconds)
    return Timeline(began, axis.seconds, ticks, tuple(bars), links, short, other_nodes, earlier)


@dataclass(frozen=True)
class _Axis:
    """The time from the beginning to the end, on which bars are placed."""

    began: datetime
    seconds: float
    now: datetime

    def stack(self, run: StackRun, *, is_critical: bool) -> Bar:
        failure = (
            ""
            if run.status.endswith("_COMPLETE") and "ROLLBACK" not in run.status
            else (run.status)
        )
        place = self.place(run.began, run.ended)
        return Bar("stack", 0, run.stack, run.status, *place, is_critical, failure=failure)

    def resource(self, run: ResourceRun, *, is_critical: bool) -> Bar:
        place = self.place(run.began, run.ended)
        return Bar("resource", 1, run.logical_id, run.type, *place, is_critical, failure=run.reason)

    def node(self, run: NodeRun, *, is_critical: bool) -> Bar:
        place = self.place(run.began, run.ended)
        first = (run.scripts_began - run.began).total_seconds()
        failure = "" if run.report.succeeded else run.report.summary
        group = run.report.group
        return Bar("node", 2, run.report.name, group, *place, is_critical, first, failure)

    def has_bar(self, run: ResourceRun, is_critical: bool) -> bool:
        """Return whether a resource has a bar: it is slow, has failed, or is the cluster."""
        _, seconds = self.place(run.began, run.ended)
        share = TOLD_SHARE if is_critical else 2 * TOLD_SHARE
        return bool(run.reason) or run.type == CLUSTER or seconds >= share * self.seconds

    def place(self, began: datetime, ended: datetime | None) -> tuple[float, float]:
        """Return the start of something on the axis, and its length."""
        at = (began - self.began).total_seconds()
        return at, ((ended or self.now) - began).total_seconds()


def _last_deployment(
    runs: Sequence[StackRun], now: datetime
) -> tuple[list[StackRun], tuple[StackRun, ...]]:
    """Return the runs of the last deployment in order, and the runs of earlier stacks."""
    last: list[StackRun] = []
    for run in sorted(runs, key=lambda run: run.began, reverse=True):
        if last and last[0].began - (run.ended or now) > PAUSE:
            break
        last.insert(0, run)
    return last, tuple(run for run in runs if run not in last)


class _Run(Protocol):
    @property
    def began(self) -> datetime: ...

    @property
    def ended(self) -> datetime | None: ...


AnyRun = TypeVar("AnyRun", bound=_Run)


def _chain(runs: Sequence[AnyRun], now: datetime) -> list[AnyRun]:
    """Return the critical path from the beginning to the end."""
    found: list[AnyRun] = []
    left = list(runs)
    while left:
        last = max(left, key=lambda run: (run.ended or now, run.began))
        found.insert(0, last)
        left = [run for run in left if run.ended and run.ended <= last.began and run is not last]
    return found


def _within(resource: ResourceRun, nodes: Sequence[NodeRun], now: datetime) -> list[NodeRun]:
    """Return the nodes that came up while the cluster was created or changed."""
    if resource.type != CLUSTER:
        return []
    begin, end = resource.began - SLACK, (resource.ended or now) + SLACK
    return [node for node in nodes if begin <= node.scripts_began and node.ended <= end]


def _chosen(nodes: Sequence[NodeRun]) -> list[NodeRun]:
    """Return the nodes to show: failed ones, the slowest of each group, then the slowest."""
    by_end = sorted(nodes, key=lambda node: node.ended, reverse=True)
    first = {node.report.group: node for node in reversed(by_end)}
    ranked = sorted(
        by_end, key=lambda node: (node.report.succeeded, first[node.report.group] is not node)
    )
    shown = {id(node) for node in ranked[:MOST_NODES]}
    places = {
        group: place
        for place, group in enumerate(dict.fromkeys(node.report.group for node in nodes))
    }
    return sorted(
        (node for node in nodes if id(node) in shown),
        key=lambda node: (places[node.report.group], node.report.name),
    )


def _links(stacks: Sequence[StackRun], nodes: Sequence[NodeRun], now: datetime) -> Iterator[Link]:
    for stack in stacks:
        for resource in _chain(stack.resources, now):
            within = _within(resource, nodes, now)
            if within:
                yield from _links_of_node(max(within, key=lambda node: node.ended))
            else:
                seconds = ((resource.ended or now) - resource.began).total_seconds()
                yield Link(stack.stack, resource.logical_id, seconds)


def _links_of_node(node: NodeRun) -> Iterator[Link]:
    name = node.report.name
    yield Link(name, "start-up", (node.scripts_began - node.began).total_seconds())
    took = {step.name: step.seconds for step in node.report.steps}
    for step in node.report.slowest_path:
        yield Link(name, f"step {step}", took.get(step, 0.0))


def _folded(links: Iterable[Link], stacks: Sequence[StackRun], axis: _Axis) -> tuple[Link, ...]:
    """Keep the long links; with the last two entries they add up to the whole time."""
    shown = [link for link in links if link.seconds >= TOLD_SHARE * axis.seconds]
    at_work = sum(axis.place(run.began, run.ended)[1] for run in stacks)
    shorter = max(at_work - sum(link.seconds for link in shown), 0.0)
    pauses = max(axis.seconds - at_work, 0.0)
    return (*shown, Link("", "everything shorter", shorter), Link("", "between stacks", pauses))


def _ticks(seconds: float) -> tuple[float, ...]:
    """Return round numbers of seconds for the axis."""
    steps = (0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400)
    step = next((each for each in steps if seconds / each <= TICKS), steps[-1])
    return tuple(step * number for number in range(int(seconds / step) + 1))
