"""What happens to clusters, as ListClusterEvents, DescribeClusterEvent and EventBridge tell it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from embedded_aws.cluster import Cluster
from embedded_aws.errors import ServiceError
from embedded_aws.sagemaker import events
from embedded_aws.sagemaker.describe import describe_event, list_events
from embedded_aws.sagemaker.events import record
from tests.pure.hyperpod.clusters import cluster, group, node

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def demo() -> Cluster:
    """A cluster to which three things have happened, a minute apart."""
    worker = node("cpu", "10.0.0.5")
    demo = cluster(group("cpu", 1), nodes=[worker])
    demo.settings = replace(demo.settings, is_continuous=True)
    sent: list[Any] = []
    demo.tell = sent.append
    for minute, event in enumerate(
        (
            events.cluster_begins(demo, "creation"),
            events.group_scales(demo, demo.group("cpu")),
            events.creation_ends(demo, worker, "no capacity"),
        )
    ):
        record(demo, replace(event, time=NOW + timedelta(minutes=minute)))
    demo.tags["sent"] = json.dumps(sent)
    return demo


def descriptions(demo: Cluster, **given: Any) -> list[str]:
    return [event["Description"] for event in list_events(demo, given)["Events"]]


BEGINS = "Cluster demo creation started successfully"
SCALES = "InstanceGroup cpu scaling started successfully in Cluster demo"
FAILS = "Instance creation in Cluster demo and InstanceGroup cpu failed"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, [FAILS, SCALES, BEGINS]),
        ({"SortOrder": "Ascending"}, [BEGINS, SCALES, FAILS]),
        ({"ResourceType": "Instance"}, [FAILS]),
        ({"InstanceGroupName": "cpu"}, [FAILS, SCALES]),
        ({"NodeId": "i-10.0.0.5"}, [FAILS]),
        ({"NodeId": "i-10.0.0.6"}, []),
        ({"OperationId": "00000000-0000-0000-0000-000000000000"}, []),
        ({"EventTimeAfter": datetime(2026, 1, 1, 0, 0, 30)}, [FAILS, SCALES]),  # noqa: DTZ001
        ({"EventTimeBefore": datetime(2026, 1, 1, 0, 0, 30)}, [BEGINS]),  # noqa: DTZ001
        ({"MaxResults": 1}, [FAILS]),
    ],
)
def test_filters(demo: Cluster, given: dict[str, Any], expected: list[str]) -> None:
    assert descriptions(demo, **given) == expected


def test_why_something_failed_only_describe_cluster_event_tells(demo: Cluster) -> None:
    failure = list_events(demo, {})["Events"][0]
    assert failure["EventLevel"] == "Error"
    detail = describe_event(demo, failure["EventId"])["EventDetails"]
    metadata = detail["EventDetails"]["EventMetadata"]["Instance"]
    assert metadata["FailureMessage"] == "no capacity"

    sent = json.loads(demo.tags["sent"])[-1]["detail"]["EventDetails"]
    assert sent["EventId"] == failure["EventId"]
    assert sent["EventTime"] == round((NOW + timedelta(minutes=2)).timestamp() * 1000)
    assert sent["EventDetails"]["EventMetadata"]["Instance"]["FailureMessage"] is None


def test_an_event_that_there_is_not(demo: Cluster) -> None:
    with pytest.raises(ServiceError) as refused:
        describe_event(demo, "nothing")
    assert refused.value.code == "ResourceNotFound"


def test_other_clusters_have_no_events(demo: Cluster) -> None:
    demo.settings = replace(demo.settings, is_continuous=False)
    before = len(demo.events)
    record(demo, events.cluster_begins(demo, "update"))
    assert len(demo.events) == before
    with pytest.raises(ServiceError, match="only supported for clusters using Continuous"):
        list_events(demo, {})
