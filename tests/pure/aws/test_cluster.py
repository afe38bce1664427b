"""Nodes of a cluster: one list, one order, one name for each, whoever asks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from slurmpod.aws.cluster import ClusterView
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.live_nodes import LiveNodes

BEGAN = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
NODES = {"i-1": ("worker", "10.0.0.9"), "i-2": ("head", "10.0.0.7"), "i-3": ("worker", "10.0.0.8")}
REFUSED = {"Code": "AccessDenied", "Message": "no"}
GONE = {"Code": "ResourceNotFound", "Message": "Instance i-1 does not exist"}


class SageMaker:
    """A cluster whose list has all nodes; `described` is what one says that is asked for alone."""

    def __init__(
        self, *, named: bool = False, status: str = "Running", **described: dict[str, str]
    ) -> None:
        self._described = {key.replace("i", "i-"): value for key, value in described.items()}
        self.asked: list[str] = []
        self._summaries = [
            {
                "InstanceGroupName": group,
                "InstanceId": instance_id,
                "InstanceType": "ml.m5.large",
                "InstanceStatus": {"Status": status},
                "LaunchTime": BEGAN - timedelta(hours=number),
                **({"PrivateDnsHostname": _dns(address)} if named else {}),
            }
            for number, (instance_id, (group, address)) in enumerate(NODES.items())
        ]

    def get_paginator(self, name: str) -> Any:
        assert name == "list_cluster_nodes"
        return SimpleNamespace(paginate=self._pages)

    def _pages(self, **_: Any) -> Any:
        return ({"ClusterNodeSummaries": [each]} for each in self._summaries)

    def describe_cluster_node(self, ClusterName: str, NodeId: str) -> dict[str, Any]:  # noqa: N803
        assert ClusterName == "dev"
        self.asked.append(NodeId)
        details: Any = self._described.get(NodeId, {"PrivatePrimaryIp": NODES[NodeId][1]})
        if "Code" in details:
            raise ClientError({"Error": details}, "DescribeClusterNode")
        return {"NodeDetails": details}


def _dns(address: str) -> str:
    return f"ip-{address.replace('.', '-')}.us-west-2.compute.internal"


def view(sagemaker: SageMaker) -> ClusterView:
    clients: Any = SimpleNamespace(sagemaker=sagemaker)
    return ClusterView(clients)


@pytest.mark.parametrize("named", [True, False])
def test_nodes_come_group_by_group_in_the_order_of_their_names(named: bool) -> None:
    found = view(SageMaker(named=named)).nodes("dev")
    assert [node.instance_id for node in found] == ["i-2", "i-3", "i-1"]
    assert [node.name for node in found] == ["ip-10-0-0-7", "ip-10-0-0-8", "ip-10-0-0-9"]
    assert found[0].private_ip == "10.0.0.7"


def test_nodes_whose_names_are_listed_are_not_described() -> None:
    sagemaker = SageMaker(named=True)
    view(sagemaker).nodes("dev")
    assert sagemaker.asked == []


def test_nodes_that_can_have_no_address_yet_are_not_described() -> None:
    sagemaker = SageMaker(status="Pending")
    found = view(sagemaker).nodes("dev")
    assert [node.name for node in found] == ["i-2", "i-1", "i-3"]
    assert sagemaker.asked == []


@pytest.mark.parametrize("described", [{}, GONE])
def test_a_node_without_an_address_goes_by_its_id(described: dict[str, str]) -> None:
    found = view(SageMaker(i1=described)).nodes("dev")
    names = {node.instance_id: node.name for node in found}
    assert names == {"i-1": "i-1", "i-2": "ip-10-0-0-7", "i-3": "ip-10-0-0-8"}


def test_commands_that_change_nodes_name_them_as_those_that_look_do() -> None:
    sagemaker = SageMaker()
    live = LiveNodes(view(sagemaker).clients, "dev")
    assert live.all() == view(sagemaker).nodes("dev")


def test_running_nodes_of_a_group_come_the_oldest_first() -> None:
    assert view(SageMaker()).running("dev", "worker") == ("i-3", "i-1")


def test_a_node_that_may_not_be_described_is_told_in_a_sentence() -> None:
    with pytest.raises(AwsUnavailable, match="cannot list the nodes of dev: AccessDenied: no"):
        view(SageMaker(i1=REFUSED)).nodes("dev")
