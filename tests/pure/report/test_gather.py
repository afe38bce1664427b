"""Who is asked for a report: one refusal leaves the rest, and nobody asks nodes that are not."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from slurmpod.aws.errors import AwsUnavailable
from slurmpod.metrics.dashboards import DASHBOARDS
from slurmpod.operations.attempt import Unavailable
from slurmpod.operations.idle_checks import CheckedNodes
from slurmpod.report.gather import NO_NODES, NOTHING_DEPLOYED, Askers, NoSessions, askers, record_of
from slurmpod.report.record import Rehearsed
from tests.pure.operations.cluster_at_work import NOW, Cluster
from tests.pure.plan.planned import resolved
from tests.pure.report.known import RECORDS, RUNS


def asked(cluster: Cluster, account: str = "123456789012") -> Askers:
    cluster.answers |= {"records": RECORDS, "ended": "COMPLETED|7200|0\n"}
    found = askers(cluster.clients(), has_nodes=True)
    owner: Any = SimpleNamespace(id=lambda: account)
    events: Any = SimpleNamespace(last_runs=lambda stacks: RUNS[: len(tuple(stacks))])
    return replace(found, account=owner, sources=cluster.sources(), events=events)


def test_what_one_refuses_is_said_and_the_rest_is_there() -> None:
    cluster = Cluster(refused={"filter_log_events": "AccessDenied"})
    record = record_of(asked(cluster), resolved(), NOW, None)
    assert isinstance(record.nodes, Unavailable)
    assert "AccessDenied" in record.nodes.why
    assert not isinstance(record.status.cluster, Unavailable)
    assert len(record.launched) == 5


def test_jobs_and_how_their_node_hours_ended_are_asked_for_in_one_session() -> None:
    cluster = Cluster()
    record = record_of(asked(cluster), resolved(), NOW, None)
    assert not isinstance(record.goodput, Unavailable)
    assert (record.goodput.ended, record.goodput.share) == (2.0, 1.0)
    assert not isinstance(record.jobs, Unavailable)
    assert [job.name for job in record.jobs] == ["train|with bars"]
    without = record_of(asked(cluster), resolved(slurm={"accounting": False}), NOW, None)
    assert without.jobs == without.goodput
    assert isinstance(without.goodput, Unavailable)


def test_another_account_is_not_asked() -> None:
    cluster = Cluster()
    with pytest.raises(AwsUnavailable, match="belong to account 210987654321"):
        record_of(asked(cluster, "210987654321"), resolved(), NOW, None)
    assert not cluster.asked


def test_without_stacks_nothing_is_deployed_unless_it_is_a_rehearsal() -> None:
    cluster = Cluster()
    elsewhere = resolved(name="other")
    with pytest.raises(AwsUnavailable, match=NOTHING_DEPLOYED):
        record_of(asked(cluster), elsewhere, NOW, None)
    assert record_of(asked(cluster), elsewhere, NOW, Rehearsed("other-1")).runs == ()
    assert record_of(asked(cluster), resolved(), NOW, None).runs == RUNS


def test_panels_with_data_are_drawn_where_the_environment_has_prometheus() -> None:
    watched = resolved(monitoring={"prometheus": {}})
    panel = DASHBOARDS[0].panels[0]
    (expression,) = [each.replace("$node", ".*") for each in list(panel.queries.values())[:1]]

    class Workspace:
        def range(self, query: str, begin: float, end: float, step_seconds: float) -> Any:
            return [({}, [(begin, 1.0)])] if query == expression else []

    sources = replace(asked(Cluster()), metrics=lambda _: Workspace())
    record = record_of(sources, watched, NOW, None)
    assert record.panels is not None
    assert not isinstance(record.panels, Unavailable)
    assert panel.title in {each.title for each in record.panels}
    assert len(record.panels) < sum(len(each.panels) for each in DASHBOARDS)
    assert record_of(sources, resolved(), NOW, None).panels is None


def test_results_of_checks_are_asked_for_where_the_environment_has_checks() -> None:
    cluster = Cluster()
    assert record_of(asked(cluster), resolved(), NOW, None).checks is None
    checked = resolved(checks={})
    silent = record_of(asked(cluster), checked, NOW, None).checks
    assert isinstance(silent, Unavailable)
    cluster.answers["newest"] = '{"nodes": [], "more": 0}\n'
    assert record_of(asked(cluster), checked, NOW, None).checks == CheckedNodes((), 0)


def test_a_rehearsal_without_nodes_says_that_instead_of_asking_them() -> None:
    assert isinstance(askers(None, has_nodes=False).sources.sessions, NoSessions)  # type: ignore[arg-type]
    cluster = Cluster()
    sources = replace(cluster.sources(), sessions=NoSessions(None))  # type: ignore[arg-type]
    record = record_of(replace(asked(cluster), sources=sources), resolved(), NOW, None)
    assert record.jobs == record.status.slurm == Unavailable(NO_NODES)
