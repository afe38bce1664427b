"""Scripts on nodes of several groups: where they are due, in which order, when they stop."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from slurmpod.aws.cluster import ClusterView, Node
from slurmpod.bundle import render_bundle
from slurmpod.changes.compare import changes
from slurmpod.deployment_record import read_record, record
from slurmpod.operations.rollout import (
    plan_rollout,
    run_rollout,
    stale_nodes,
    workers_go_first,
)
from slurmpod.reading.read import read_as
from slurmpod.resolve import Resolved, resolve
from tests.pure.operations.nodes import live
from tests.pure.operations.test_lifecycle_report import line
from tests.pure.operations.test_lifecycle_run import Answers
from tests.sound_environment import SOUND

OLD = "s3://sagemaker-dev/lifecycle/0123456789ab"
NODES = (
    live("workers", "i-1", status="Running"),
    live("controller", "i-2", status="Running"),
    live("workers", "i-3", status="Pending"),
    live("login", "i-4", status="Running"),
    live("gone", "i-5", status="Running"),
)


class Cluster(ClusterView):
    """A cluster whose groups have these scripts."""

    def __init__(self, **uris: str) -> None:
        self._uris = uris

    def cluster_id(self, cluster: str) -> str:
        return "abcde01234yz"

    def bundle_uris(self, cluster: str) -> dict[str, str]:
        return self._uris

    def nodes(self, cluster: str, **_: str) -> tuple[Node, ...]:
        return NODES


WITH_LOGIN = SOUND.replace(
    "    - name: workers",
    "    - {name: login, role: login, instance_type: ml.m5.large}\n    - name: workers",
)


def dev(more: str = "") -> Resolved:
    return resolve(read_as("dev.yaml", WITH_LOGIN + more))


def uri(resolved: Resolved) -> str:
    bundle = render_bundle(resolved)
    assert bundle
    return f"s3://{resolved.lifecycle.bucket}/{bundle.prefix}"


def stale(resolved: Resolved, cluster: Cluster, due: Collection[str] = ()) -> set[str]:
    return {node.instance_id for node in stale_nodes(cluster, resolved, due)}


def test_nodes_of_groups_with_other_scripts_are_stale() -> None:
    new = uri(dev())
    cluster = Cluster(controller=OLD, workers=OLD, login=new, gone=OLD)
    assert stale(dev(), cluster) == {"i-1", "i-2"}
    assert stale(dev(), Cluster(controller=new, workers=new, login=new)) == set()


def test_what_an_interrupted_deployment_owes_is_stale_too() -> None:
    new = uri(dev())
    cluster = Cluster(controller=new, workers=new, login=new)
    assert stale(dev(), cluster, ["i-4", "i-99"]) == {"i-4"}


def test_nodes_that_hyperpod_sets_up_alone_have_no_scripts() -> None:
    managed = dev("lifecycle: {mode: managed}\n")
    assert stale(managed, Cluster(controller="", workers="")) == set()


ALL = dict.fromkeys(("controller", "workers", "login"), OLD)


def test_controllers_come_first_and_workers_last() -> None:
    plans = plan_rollout(Cluster(**ALL), dev())
    assert [plan.nodes[0].group for plan in plans] == ["controller", "login", "workers"]
    assert [[node.instance_id for node in plan.nodes] for plan in plans] == [
        ["i-2"],
        ["i-4"],
        ["i-1"],
    ]


def test_controllers_come_last_where_workers_need_something_before() -> None:
    plans = plan_rollout(Cluster(**ALL), dev(), workers_first=True)
    assert [plan.nodes[0].group for plan in plans] == ["workers", "login", "controller"]


@pytest.mark.parametrize(
    ("before", "after", "first"),
    [
        ("", "lifecycle: {containers: true}\n", True),
        ("lifecycle: {containers: true}\n", "", False),
        ("access: {ssh_needs_job: true}\n", "", True),
        ("", "access: {ssh_needs_job: true}\n", False),
        ("", "lifecycle: {motd: false}\n", False),
    ],
)
def test_workers_go_first_where_jobs_would_not_start(before: str, after: str, first: bool) -> None:
    recorded = read_record(record(dev(before)))
    assert workers_go_first(changes(recorded, dev(after))) is first


def test_may_be_for_some_nodes() -> None:
    (plan,) = plan_rollout(Cluster(**ALL), dev(), only=["i-1", "i-3"])
    assert [node.instance_id for node in plan.nodes] == ["i-1"]


@pytest.mark.parametrize(
    ("failing", "begun"), [("", ["i-2", "i-4", "i-1"]), ("i-4", ["i-2", "i-4"])]
)
def test_a_group_that_fails_is_the_last(failing: str, begun: list[str]) -> None:
    plans = plan_rollout(Cluster(**ALL), dev())
    printed = {
        each.instance_id.removeprefix("i-"): line(
            each.instance_id, failure="no way" if each.instance_id == failing else ""
        )
        for each in NODES
    }
    reports = list(run_rollout(plans, lambda _: None, Answers(**printed)))
    assert [report.instance_id for report in reports] == begun
