"""Reads from AWS and Slurm how an environment was deployed and its current state. Read-only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from slurmpod.aws.account import AwsAccount
from slurmpod.aws.clients import AwsClients
from slurmpod.aws.cluster import ClusterState, ClusterView, Node
from slurmpod.aws.cluster_logs import ClusterLogs
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.prometheus import PrometheusQueries
from slurmpod.aws.stack import Stack
from slurmpod.aws.stack_events import StackEvents, StackRun
from slurmpod.aws.watch import Watch
from slurmpod.metrics.dashboards import DASHBOARDS
from slurmpod.operations.attempt import Unavailable, read
from slurmpod.operations.connect import NodeSessions
from slurmpod.operations.cost import goodput_questions
from slurmpod.operations.deployed import LiveEnvironment, require_account
from slurmpod.operations.goodput import ENDED, read_goodput
from slurmpod.operations.grafana import prometheus_url_of
from slurmpod.operations.idle_checks import (
    NEWEST,
    CheckedNodes,
    newest_command,
    read_newest,
)
from slurmpod.operations.job_records import DAYS, RECORDS, last_jobs, records_question
from slurmpod.operations.lifecycle import lifecycle_reports
from slurmpod.operations.panel_pictures import PanelPicture, Queries, panels_with_data
from slurmpod.operations.questions import as_root, ask_controller
from slurmpod.operations.status import Sources, status_of
from slurmpod.report.record import Record, Rehearsed
from slurmpod.resolve import Resolved


@dataclass(frozen=True)
class Askers:
    """All clients."""

    account: AwsAccount
    sources: Sources
    events: StackEvents
    logs: ClusterLogs
    nodes: ClusterView
    metrics: Callable[[Resolved], Queries]


class NoSessions(NodeSessions):
    """Takes the place of Session Manager if there is no node to open a session on."""

    def output(self, *_: object) -> str:
        """Refuse the session; raises AwsUnavailable."""
        raise AwsUnavailable(NO_NODES)


NO_NODES = "the rehearsal is cloud-only: it has no nodes"


def askers(clients: AwsClients, *, has_nodes: bool) -> Askers:
    """Return the clients for one account and Region."""
    sessions = NodeSessions(clients) if has_nodes else NoSessions(clients)
    metrics = partial(PrometheusQueries, clients)
    sources = Sources(clients, Watch(clients), sessions, metrics)
    return Askers(
        AwsAccount(clients),
        sources,
        StackEvents(clients),
        ClusterLogs(clients),
        ClusterView(clients),
        lambda resolved: metrics(prometheus_url_of(LiveEnvironment(clients, resolved))),
    )


NOTHING_DEPLOYED = "nothing is deployed: no stack of this environment exists"


def record_of(
    asked: Askers, resolved: Resolved, now: datetime, rehearsed: Rehearsed | None
) -> Record:
    """Read everything.

    Raises:
        AwsUnavailable: AWS does not answer, the credentials belong to another account, or nothing
            is deployed.
    """
    require_account(asked.account, resolved.environment)
    status = status_of(asked.sources, resolved, now)
    if status.stacks == () and rehearsed is None:
        raise AwsUnavailable(NOTHING_DEPLOYED)
    found = read(lambda: asked.nodes.nodes(resolved.name))
    recorded = read(lambda: _slurm_records(asked, resolved, status.cluster, found, now))
    return Record(
        status=status,
        runs=read(lambda: _runs(asked, status.stacks)),
        nodes=read(lambda: lifecycle_reports(asked.nodes, asked.logs, resolved.name)),
        launched={}
        if isinstance(found, Unavailable)
        else {each.instance_id: each.launched for each in found},
        jobs=recorded
        if isinstance(recorded, Unavailable)
        else read(lambda: last_jobs(recorded[RECORDS])),
        goodput=recorded
        if isinstance(recorded, Unavailable)
        else read(lambda: read_goodput(recorded[ENDED])),
        checks=_checks(asked, resolved, status.cluster, found),
        panels=_panels(asked, resolved, now),
        rehearsed=rehearsed,
    )


def _panels(
    asked: Askers, resolved: Resolved, now: datetime
) -> tuple[PanelPicture, ...] | Unavailable | None:
    if not (resolved.monitoring and resolved.monitoring.prometheus):
        return None
    seconds = resolved.monitoring.prometheus.scrape_seconds
    return read(
        lambda: panels_with_data(
            DASHBOARDS, asked.metrics(resolved), now=now.timestamp(), scrape_seconds=seconds
        )
    )


def _runs(asked: Askers, stacks: tuple[Stack, ...] | Unavailable) -> tuple[StackRun, ...]:
    if isinstance(stacks, Unavailable):
        raise AwsUnavailable(stacks.why)
    return asked.events.last_runs(stack.name for stack in stacks)


def _slurm_records(
    asked: Askers,
    resolved: Resolved,
    cluster: ClusterState | Unavailable,
    nodes: tuple[Node, ...] | Unavailable,
    now: datetime,
) -> Mapping[str, str]:
    """Return the last jobs and the goodput of node-hours from Slurm's records."""
    if not resolved.slurm.accounting:
        raise AwsUnavailable("the environment says 'slurm: {accounting: false}'")
    asked_for = records_question() + goodput_questions(now - timedelta(days=DAYS), now)
    return _answers(asked, resolved, cluster, nodes, as_root(asked_for))


def _checks(
    asked: Askers,
    resolved: Resolved,
    cluster: ClusterState | Unavailable,
    nodes: tuple[Node, ...] | Unavailable,
) -> CheckedNodes | Unavailable | None:
    if resolved.environment.checks is None:
        return None
    command = newest_command()
    return read(lambda: read_newest(_answers(asked, resolved, cluster, nodes, command)[NEWEST]))


def _answers(
    asked: Askers,
    resolved: Resolved,
    cluster: ClusterState | Unavailable,
    nodes: tuple[Node, ...] | Unavailable,
    command: str,
) -> Mapping[str, str]:
    """Return a controller's answer; raises AwsUnavailable."""
    if isinstance(cluster, Unavailable) or isinstance(nodes, Unavailable):
        raise AwsUnavailable("the cluster could not be read")
    sessions = asked.sources.sessions
    try:
        return ask_controller(sessions, resolved, cluster.id, nodes, command)
    except BaseException:
        sessions.end()
        raise
