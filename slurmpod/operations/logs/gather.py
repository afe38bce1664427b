"""Logs of selected nodes, from CloudWatch and from the nodes, merged by time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from slurmpod.aws.cluster import IN_SERVICE, ClusterState, Node
from slurmpod.aws.cluster_logs import ClusterLogs, log_group_of
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.environment.cluster import Role
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.operations.connect import NodeSessions
from slurmpod.operations.logs.lines import Kind, Line, node_command, read_lines
from slurmpod.operations.logs.redaction import redacted
from slurmpod.operations.questions import ask_controller, ask_node
from slurmpod.operations.why import node_lines
from slurmpod.resolve import Resolved, session_names
from slurmpod.slurm.fields import value_of
from slurmpod.slurm.hostlist import expanded

AT_ONCE = 8
"""Sessions open at the same time."""

MOST_NODES = 64
"""The most nodes whose own logs are read: each takes a session of some seconds."""

ON_NODES = frozenset({Kind.SLURM, Kind.SYSTEM, Kind.AUDIT})
HEALTH_AGENT, SESSIONS = "health-agent", "sessions"
STREAMS = {
    Kind.LIFECYCLE: "LifecycleConfig",
    Kind.SYSTEM: "SagemakerHealthMonitoringAgent",
}
"""Prefix of a node's streams in the log group of its cluster: <this>/<group>/<instance id>."""


@dataclass(frozen=True)
class Wanted:
    """The selected logs: nodes, kinds and period."""

    nodes: Sequence[Node]
    kinds: Collection[Kind]
    since: datetime
    until: datetime


@dataclass(frozen=True)
class Gathered:
    """The lines found, by time; `unread` has the reason for each silent source."""

    lines: tuple[Line, ...]
    unread: dict[str, str] = field(default_factory=dict)


def chosen_nodes(
    nodes: Sequence[Node],
    resolved: Resolved,
    names: Collection[str],
    groups: Collection[str],
) -> list[Node]:
    """Return the named nodes, and those of groups; controllers by default.

    Raises:
        AwsUnavailable: a name matches no node, or too many nodes are selected.
    """
    known = {each for node in nodes for each in (node.name, node.instance_id)}
    if strangers := [name for name in names if name not in known]:
        guess = did_you_mean(strangers[0], known) or "slurmpod status shows the nodes"
        raise AwsUnavailable(f"{resolved.name} has no node {', '.join(strangers)}; {guess}")
    if not names and not groups:
        groups = [group.name for group in resolved.groups_with(Role.CONTROLLER)]
    found = [
        node
        for node in nodes
        if node.group in groups or node.name in names or node.instance_id in names
    ]
    if len(found) > MOST_NODES:
        raise AwsUnavailable(
            f"{len(found)} nodes are too many, the limit is {MOST_NODES}: select some with --node"
        )
    return found


def nodes_of_job(
    sessions: NodeSessions,
    resolved: Resolved,
    cluster: ClusterState,
    nodes: Sequence[Node],
    job: str,
    hours: int,
) -> list[str]:
    """Return the names of the nodes that a job ran on; raises AwsUnavailable."""
    command = node_lines.controller_on_job(job, hours)
    answers = ask_controller(sessions, resolved, cluster.id, nodes, command)
    lists = [value_of(answers.get(node_lines.STATE, ""), "NodeList")]
    for line in answers.get(node_lines.RECORDS, "").splitlines():
        fields = line.split("|")
        lists += fields[5:6]
    known = {node.name for node in nodes}
    names = {name for each in lists for name in expanded(each) if name in known}
    if not names:
        raise AwsUnavailable(f"no node of job {job} exists any more")
    return sorted(names)


def gather(
    logs: ClusterLogs,
    sessions: NodeSessions,
    resolved: Resolved,
    cluster: ClusterState,
    wanted: Wanted,
) -> Gathered:
    """Read all selected logs; nodes that do not answer are named in `unread`."""
    found: list[Line] = []
    silent = [node for node in wanted.nodes if node.status != IN_SERVICE]
    asked = [] if not ON_NODES & set(wanted.kinds) else wanted.nodes
    unread = {node.name: f"SageMaker says {node.status}" for node in silent if node in asked}
    command = node_command(wanted.kinds, wanted.since, wanted.until)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        work = {
            node.name: pool.submit(ask_node, sessions, cluster.id, node, command)
            for node in asked
            if node.name not in unread
        }
        try:
            found += _or_unread(
                lambda: _of_cloud(logs, resolved, cluster, wanted), "CloudWatch", unread
            )
            for name, answers in work.items():
                found += _or_unread(partial(_of_node, answers, name), name, unread)
        except BaseException:
            sessions.end()
            raise
    return Gathered(tuple(sorted(found, key=lambda line: (line.time, line.node, line.log))), unread)


def _or_unread(
    ask: Callable[[], Iterable[Line]], who: str, unread: dict[str, str]
) -> Iterator[Line]:
    """Yield lines until a source fails, and record why."""
    try:
        yield from ask()
    except AwsUnavailable as refusal:
        unread[who] = str(refusal)


def _of_node(answers: Future[Mapping[str, str]], name: str) -> Iterator[Line]:
    yield from read_lines(answers.result(), name)


def _of_cloud(
    logs: ClusterLogs, resolved: Resolved, cluster: ClusterState, wanted: Wanted
) -> Iterator[Line]:
    """Read the streams of nodes, and session records; raises AwsUnavailable."""
    log_group = log_group_of(resolved.name, cluster.id)
    for node in wanted.nodes:
        for kind, stream in STREAMS.items():
            if kind in wanted.kinds:
                name = f"{stream}/{node.group}/{node.instance_id}"
                log = HEALTH_AGENT if kind is Kind.SYSTEM else str(kind)
                read = logs.lines(log_group, name, wanted.since)
                yield from _lines(read, node.name, log, wanted.until)
    sessions = session_names(resolved).log_group
    if Kind.AUDIT in wanted.kinds and sessions:
        yield from _lines(logs.lines(sessions, "", wanted.since), "all", SESSIONS, wanted.until)


def _lines(
    read: Sequence[tuple[datetime, str]], node: str, log: str, until: datetime
) -> Iterator[Line]:
    texts = redacted(text for _, text in read)
    for (time, _), text in zip(read, texts, strict=True):
        if time < until:
            yield Line(time, node, log, text)
