"""Groups that have fewer nodes than they want, and why."""

from __future__ import annotations

from datetime import UTC, datetime

from slurmpod.aws.cluster import ClusterState, ClusterView, GroupState, Node
from slurmpod.operations.deploy.late_nodes import LateGroup, late_groups
from tests.pure.operations.nodes import live

LACKING = "We currently do not have sufficient capacity."


class View(ClusterView):
    def __init__(self) -> None:
        pass

    def cluster(self, name: str) -> ClusterState:
        groups = (_group("cpu", 2, 2), _group("gpu", 1, 3), _group("new", 0, 1))
        return ClusterState("c", "InService", "", datetime(2026, 11, 20, tzinfo=UTC), groups)

    def nodes(self, cluster: str, **_: str) -> tuple[Node, ...]:
        return (
            live("cpu", "i-1", message="well"),
            live("gpu", "i-2", status="Pending", message=LACKING),
            live("gpu", "i-3", status="Pending"),
            live("new", "i-4", status="Pending"),
        )


def _group(name: str, in_service: int, wanted: int) -> GroupState:
    return GroupState(name, "ml.m5.large", wanted, in_service, "InService", "", "")


def test_are_those_that_lack_nodes_with_the_reason_that_one_gives() -> None:
    assert late_groups(View(), "dev") == (
        LateGroup("gpu", "ml.m5.large", 1, 3, (LACKING,)),
        LateGroup("new", "ml.m5.large", 0, 1, ()),
    )


def test_read_as_what_is_to_come_and_why() -> None:
    gpu, new = late_groups(View(), "dev")
    assert gpu.text == f"gpu (ml.m5.large): 1 of 3 nodes in service, 2 still to come: {LACKING}"
    assert new.text == "new (ml.m5.large): 0 of 1 nodes in service, 1 still to come"


def test_have_none_when_every_node_lacks_an_instance_and_not_while_one_is_on_its_way() -> None:
    assert LateGroup("gpu", "ml.m5.large", 0, 2, (LACKING, LACKING)).has_none
    assert not LateGroup("gpu", "ml.m5.large", 0, 2, (LACKING,)).has_none
