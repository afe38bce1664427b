"""Which event of HyperPod goes to whom; EventBridge's matching is moto's."""

from __future__ import annotations

import json
from typing import Any

import pytest
from moto.events.models import EventPattern

from embedded_aws.event_delivery import transformed
from slurmpod_cdk.monitoring.events import SEVERITIES, ClusterEvents, _transformer, events_of

ALL = tuple(events_of("pod", "us-west-2"))

AWS = "aws sagemaker"
POD = "--region us-west-2 --cluster-name pod"

STATE = "SageMaker HyperPod Cluster State Change"
HEALTH = "SageMaker HyperPod Cluster Node Health Event"
CLUSTER = "SageMaker HyperPod Cluster Event"


def event(kind: str, **detail: Any) -> dict[str, Any]:
    return {
        "version": "0",
        "id": "0bd4a141-0a02-9d8a-f977-3924c3fb259c",
        "detail-type": kind,
        "source": "aws.sagemaker",
        "account": "123456789012",
        "time": "2026-06-01T17:20:25Z",
        "region": "us-west-2",
        "resources": ["arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghijkl"],
        "detail": detail,
    }


def state(status: str, **more: Any) -> dict[str, Any]:
    return event(STATE, ClusterName="pod", ClusterStatus=status, **more)


def health(status: str, **more: Any) -> dict[str, Any]:
    summary = {"HealthStatus": status, "HealthStatusReason": "XidHardwareFailure", **more}
    return event(HEALTH, ClusterName="pod", InstanceId="i-1", HealthSummary=summary)


def told(level: str, resource: str = "Cluster", cluster: str = "pod") -> dict[str, Any]:
    details = {
        "ClusterName": cluster,
        "EventId": "83ea0bb5",
        "EventLevel": level,
        "ResourceType": resource,
        "Description": "Scaling of group p5 failed",
    }
    return event(CLUSTER, EventDetails=details)


def matching(given: dict[str, Any]) -> list[ClusterEvents]:
    return [
        events
        for events in ALL
        if EventPattern.load(json.dumps(events.pattern)).matches_event(given)  # type: ignore[arg-type]
    ]


@pytest.mark.parametrize(
    ("given", "severity"),
    [
        (state("Failed", FailureMessage="Lifecycle scripts did not run"), "critical"),
        (state("Failed"), "critical"),
        (state("InService", FailureMessage="The update failed: no capacity"), "critical"),
        (state("RollingBack", FailureMessage=""), "warning"),
        (state("Deleting", FailureMessage=""), "warning"),
        (state("InService", FailureMessage=""), "info"),
        (state("InService", FailureMessage=None), "info"),
        (state("InService"), "info"),
        (state("Creating", FailureMessage=""), "info"),
        (state("Updating", FailureMessage=""), "info"),
        (state("SystemUpdating", FailureMessage=""), "info"),
        (health("Unhealthy", RepairAction="None"), "critical"),
        (health("Unhealthy"), "critical"),
        (health("Unhealthy", RepairAction="Replace"), "warning"),
        (health("Unhealthy", RepairAction="Reboot"), "warning"),
        (health("Healthy", RepairAction="None"), "info"),
        (told("Error", "Instance"), "critical"),
        (told("Warn", "Instance"), "warning"),
        (told("Info", "InstanceGroup"), "info"),
        (told("Info", "Cluster"), "info"),
    ],
)
def test_an_event_goes_to_one_topic(given: dict[str, Any], severity: str) -> None:
    assert [events.severity for events in matching(given)] == [severity]


@pytest.mark.parametrize(
    "given",
    [
        told("Info", "Instance"),
        told("Error", cluster="other"),
        event(STATE, ClusterName="other", ClusterStatus="Failed"),
        event("SageMaker Endpoint State Change", ClusterName="pod", ClusterStatus="Failed"),
        {**state("Failed"), "source": "somebody.else"},
    ],
)
def test_what_is_another_clusters_or_happens_all_the_time_goes_to_nobody(
    given: dict[str, Any],
) -> None:
    assert matching(given) == []


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        (
            state("Failed", FailureMessage="Lifecycle scripts did not run"),
            [
                "HyperPod cluster pod: cluster is Failed",
                "Why: Lifecycle scripts did not run",
                "Where: account 123456789012, us-west-2, at 2026-06-01T17:20:25Z",
                f"What to do: {AWS} describe-cluster {POD}",
            ],
        ),
        (
            health("Unhealthy", RepairAction="None", Recommendation="Replace the node"),
            [
                "HyperPod cluster pod: node i-1 is Unhealthy",
                "Why: XidHardwareFailure",
                "HyperPod does: None",
                "HyperPod recommends: Replace the node",
                "Where: account 123456789012, us-west-2, at 2026-06-01T17:20:25Z",
                f"What to do: replace the node, or reboot it; {AWS} list-cluster-nodes {POD}",
            ],
        ),
        (
            told("Error", "InstanceGroup"),
            [
                "HyperPod cluster pod: InstanceGroup: Scaling of group p5 failed",
                "Where: account 123456789012, us-west-2, at 2026-06-01T17:20:25Z",
                f"What to do: see why: {AWS} describe-cluster-event {POD} --event-id 83ea0bb5",
            ],
        ),
    ],
    ids=["state", "health", "event"],
)
def test_people_read_what_where_and_what_to_do(given: dict[str, Any], lines: list[str]) -> None:
    (events,) = matching(given)
    transformer = _transformer(events.message)
    text = transformed(
        {
            "InputPathsMap": transformer.input_paths_map,
            "InputTemplate": transformer.input_template,
        },
        given,
    )
    assert [json.loads(line) for line in text.splitlines()] == lines


def test_every_severity_has_events_and_every_rule_a_name_of_its_own() -> None:
    assert {events.severity for events in ALL} == set(SEVERITIES)
    assert len({events.id for events in ALL}) == len(ALL)
