"""The function that counts nodes, as Lambda runs it: a file of its own."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

FILE = Path(__file__).parents[3] / "functions" / "count_nodes.py"
ARN = "arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghijkl"


class SageMaker:
    """A cluster with nodes in pages of two."""

    def __init__(self, wanted: int, *statuses: str) -> None:
        self.wanted = wanted
        self.nodes = [{"InstanceStatus": {"Status": status}} for status in statuses]
        self.asked: list[str] = []

    def describe_cluster(self, ClusterName: str) -> dict[str, Any]:  # noqa: N803 - the API's name
        self.asked.append(ClusterName)
        return {"InstanceGroups": [{"TargetCount": 1}, {"TargetCount": self.wanted - 1}]}

    def get_paginator(self, operation: str) -> SimpleNamespace:
        assert operation == "list_cluster_nodes"
        return SimpleNamespace(paginate=self._pages)

    def _pages(self, ClusterName: str) -> Iterator[dict[str, Any]]:  # noqa: N803 - the API's name
        self.asked.append(ClusterName)
        for start in range(0, max(len(self.nodes), 1), 2):
            yield {"ClusterNodeSummaries": self.nodes[start : start + 2]}


class CloudWatch:
    def __init__(self) -> None:
        self.put: list[dict[str, Any]] = []

    def put_metric_data(self, **given: Any) -> None:
        self.put.append(given)


def run(sagemaker: SageMaker, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, int], CloudWatch]:
    cloudwatch = CloudWatch()
    services = {"sagemaker": sagemaker, "cloudwatch": cloudwatch}
    monkeypatch.setattr("boto3.client", services.__getitem__)
    for name, value in (("CLUSTER_ARN", ARN), ("CLUSTER", "pod"), ("NAMESPACE", "slurmpod")):
        monkeypatch.setenv(name, value)
    return runpy.run_path(str(FILE))["handler"]({}, None), cloudwatch


def counted(wanted: int, *statuses: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, ...]:
    result, _ = run(SageMaker(wanted, *statuses), monkeypatch)
    names = ("NodesWanted", "NodesInService", "NodesMissing", "NodesFailed")
    assert sorted(result) == sorted(names)
    return tuple(result[name] for name in names)


@pytest.mark.parametrize(
    ("wanted", "statuses", "expected"),
    [
        (3, ("Running", "Running", "Running"), (3, 3, 0, 0)),
        (3, ("Running", "Running", "Failure"), (3, 2, 1, 1)),
        (3, ("Running", "Pending", "SystemInitializing"), (3, 1, 2, 0)),
        (3, ("Running", "DeepHealthCheckInProgress"), (3, 1, 2, 0)),
        (2, ("Running", "Running", "Running", "ShuttingDown"), (2, 3, 0, 0)),
        (2, (), (2, 0, 2, 0)),
    ],
)
def test_nodes_are_in_service_when_they_run(
    wanted: int,
    statuses: tuple[str, ...],
    expected: tuple[int, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert counted(wanted, *statuses, monkeypatch=monkeypatch) == expected


def test_it_asks_for_its_own_cluster_only(monkeypatch: pytest.MonkeyPatch) -> None:
    sagemaker = SageMaker(1, "Running")
    run(sagemaker, monkeypatch)
    assert set(sagemaker.asked) == {ARN}


def test_metrics_go_to_the_namespace_with_the_clusters_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, cloudwatch = run(SageMaker(2, "Running"), monkeypatch)
    (put,) = cloudwatch.put
    assert put["Namespace"] == "slurmpod"
    assert {each["MetricName"]: each["Value"] for each in put["MetricData"]} == {
        "NodesWanted": 2,
        "NodesInService": 1,
        "NodesMissing": 1,
        "NodesFailed": 0,
    }
    assert all(
        each["Dimensions"] == [{"Name": "Cluster", "Value": "pod"}] for each in put["MetricData"]
    )
