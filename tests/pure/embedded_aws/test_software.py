"""UpdateClusterSoftware: what its request says, and how it conflicts with other changes."""

from __future__ import annotations

from typing import Any

import pytest

from embedded_aws.cluster import ALL_AT_ONCE, BatchSize
from embedded_aws.errors import ServiceError
from embedded_aws.sagemaker.requests import read_software_update
from tests.pure.hyperpod.clusters import cluster, group

DEMO = cluster(group("head"), group("cpu", 4))


def read(**given: Any) -> Any:
    return read_software_update(DEMO, {"ClusterName": "demo", **given})


def rolling(**sizes: tuple[str, int]) -> dict[str, Any]:
    policy = {name: {"Type": kind, "Value": value} for name, (kind, value) in sizes.items()}
    return {"RollingUpdatePolicy": policy}


def test_all_groups_at_once_unless_asked_otherwise() -> None:
    update = read()
    assert (update.groups, update.batch, update.strategy) == (
        ("head", "cpu"),
        ALL_AT_ONCE,
        "AllAtOnce",
    )
    assert read(InstanceGroups=[{"InstanceGroupName": "cpu"}]).groups == ("cpu",)


def test_batches() -> None:
    config = rolling(
        MaximumBatchSize=("INSTANCE_COUNT", 2),
        RollbackMaximumBatchSize=("CAPACITY_PERCENTAGE", 50),
    )
    update = read(DeploymentConfig={**config, "WaitIntervalInSeconds": 60})
    assert (update.batch.of(10), update.rollback_batch.of(10), update.strategy) == (2, 5, "Rolling")


@pytest.mark.parametrize(
    ("size", "count", "expected"),
    [
        (BatchSize(3, is_percentage=False), 10, 3),
        (BatchSize(25, is_percentage=True), 10, 2),
        (BatchSize(1, is_percentage=True), 10, 1),
        (ALL_AT_ONCE, 7, 7),
    ],
)
def test_a_batch_has_at_least_one_instance(size: BatchSize, count: int, expected: int) -> None:
    assert size.of(count) == expected


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"InstanceGroups": [{"InstanceGroupName": "gpu"}]}, "gpu does not exist"),
        (
            {"InstanceGroups": [{"InstanceGroupName": "cpu", "ImageReleaseVersion": "1.0.0"}]},
            "ImageReleaseVersion is not supported",
        ),
        (
            {"DeploymentConfig": rolling(MaximumBatchSize=("CAPACITY_PERCENTAGE", 101))},
            "cannot be 101 %",
        ),
        (
            {"DeploymentConfig": {"AutoRollbackConfiguration": [{"AlarmName": "a"}]}},
            "AutoRollbackConfiguration is not supported",
        ),
    ],
)
def test_refusals(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(ServiceError, match=reason) as refused:
        read(**given)
    assert refused.value.code == "ValidationException"
