"""Nodes that are gone together: by the end of their training plan, or with their zone."""

from __future__ import annotations

from slurmpod.operations.why.job_facts import job_of
from slurmpod.operations.why.lost_capacity import (
    causes_of_job_without_nodes,
    causes_of_node_without_plan,
    lost_zones,
)
from slurmpod.reading.read import read_as
from slurmpod.resolve import Resolved, resolve
from tests.pure.operations.nodes import live
from tests.sound_environment import SOUND

FAR = """\
    - {name: far, role: worker, instance_type: ml.m5.xlarge, count: 2, partition: far,
       zone: us-west-2c}
"""
TEXT = SOUND.replace("  vpc_cidr", "  other_zones: [{zone: us-west-2c}]\n  vpc_cidr") + FAR
HEAD = live("controller", "i-0")
LOST = [
    live("far", "i-3", status="Pending", message="no capacity"),
    live("far", "i-4", status="Failure"),
]
NODES = [HEAD, live("workers", "i-1"), live("workers", "i-2", status="Pending"), *LOST]


def environment() -> Resolved:
    return resolve(read_as("dev.yaml", TEXT))


def job_causes(state: str, partition: str, *ended: str) -> list[str]:
    job = job_of("7", {"state": f"JobId=7 JobState={state} Partition={partition}\n"}, {})
    found = causes_of_job_without_nodes(job, NODES, ended, environment())
    return [each.says for each in found]


class TestZone:
    def test_is_lost_when_none_of_its_nodes_runs_and_others_do(self) -> None:
        (zone,) = lost_zones(environment(), [HEAD, *LOST], ())
        assert (zone.zone, zone.groups, zone.nodes) == ("us-west-2c", ("far",), 2)

    def test_is_not_lost_while_one_runs(self) -> None:
        assert not list(lost_zones(environment(), [HEAD, *LOST, live("far", "i-5")], ()))

    def test_is_not_lost_where_a_single_node_or_the_whole_cluster_is(self) -> None:
        assert not list(lost_zones(environment(), [HEAD, *LOST[:1]], ()))
        assert not list(lost_zones(environment(), LOST, ()))

    def test_is_not_lost_where_a_plan_has_ended(self) -> None:
        assert not list(lost_zones(environment(), [HEAD, *LOST], ("far",)))


class TestPlan:
    def test_is_the_cause_of_a_node_of_its_group_that_does_not_run(self) -> None:
        (cause,) = causes_of_node_without_plan(LOST[0], ("far",))
        assert "the training plan of far has ended" in cause.says
        assert cause.fix == "reserve others: slurmpod capacity search ENV far --days 14"
        assert not list(causes_of_node_without_plan(live("far", "i-3"), ("far",)))
        assert not list(causes_of_node_without_plan(LOST[0], ("p5",)))

    def test_is_the_cause_of_a_job_whose_partition_has_no_other_group(self) -> None:
        (says,) = job_causes("PENDING", "far", "far")
        assert "the training plan of far has ended" in says
        assert job_causes("PENDING", "cpu", "far") == []
        assert job_causes("RUNNING", "far", "far") == []


def test_a_job_waits_for_nodes_that_do_not_run_and_is_told_what_one_of_them_lacks() -> None:
    (says,) = job_causes("PENDING", "far")
    assert says == "no node of far runs: of i-3 SageMaker says Pending no capacity"
    assert job_causes("PENDING", "cpu") == []
    assert job_causes("RUNNING", "far") == []
