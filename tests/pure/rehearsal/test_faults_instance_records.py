"""What AWS tells of instances, from answers of boto3 that are made up."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from slurmpod.rehearsal.faults.cluster import REPLACED, FaultCluster
from tests.pure.rehearsal.test_faults import CLUSTER

ARN = "arn:aws:sagemaker:us-west-2:123456789012:cluster/abc"
EVENTS = [{"Description": f"Instance i-1 {REPLACED}"}]
REFUSAL = ClientError({"Error": {"Code": "ValidationException"}}, "ListClusterEvents")
OUTAGE = ClientError({"Error": {"Code": "ThrottlingException"}}, "ListClusterEvents")


def account(events: list[dict[str, str]] | ClientError, *, mode: str | None = None) -> Any:
    def list_events(**asked: str) -> dict[str, Any]:
        assert asked == {"ClusterName": "dev", "NodeId": "i-1"}
        if isinstance(events, ClientError):
            raise events
        return {"Events": events}

    described = {"ClusterArn": ARN, **({"NodeProvisioningMode": mode} if mode else {})}
    return SimpleNamespace(
        sagemaker=SimpleNamespace(
            describe_cluster=lambda ClusterName: described,  # noqa: N803  # the API's name
            list_cluster_events=list_events,
        )
    )


def cluster(aws: Any) -> FaultCluster:
    return replace(CLUSTER, name="dev", aws=aws)


@pytest.mark.parametrize(
    ("aws", "expected"),
    [
        (account(EVENTS, mode="Continuous"), True),
        (account([], mode="Continuous"), False),
        (account(REFUSAL, mode="Continuous"), False),
        (account(REFUSAL), True),
        (account([]), False),
        (account(OUTAGE), False),
    ],
)
def test_events_are_those_of_continuous_clusters_only(aws: Any, expected: bool) -> None:
    assert cluster(aws).has_event("i-1", REPLACED) is expected


class Logs:
    """Streams of one log group, on several pages."""

    def get_paginator(self, operation: str) -> Any:
        return self

    def paginate(self, **asked: str) -> list[dict[str, Any]]:
        assert asked["logGroupName"] == "/aws/sagemaker/Clusters/dev/abc"
        names = ("LifecycleConfig/cpu/i-1", "LifecycleConfig/cpu/i-2")
        return [{"logStreams": [{"logStreamName": name}]} for name in names]

    def get_log_events(self, **asked: Any) -> dict[str, Any]:
        return {"events": [{"message": asked["logStreamName"]}, {"message": "the end"}]}


def test_an_instance_is_found_by_its_stream() -> None:
    aws = account([])
    aws.logs = Logs()
    assert cluster(aws).printed_by("i-2") == "LifecycleConfig/cpu/i-2\nthe end"
    assert cluster(aws).printed_by("i-3") == ""
