"""What HyperPod's API says of requests before, and while, it looks for clusters."""

from __future__ import annotations

from typing import Any

import pytest

from embedded_aws.errors import ServiceError
from tests.unit.embedded_aws.cluster_requests import group, request
from tests.unit.embedded_aws.test_node_operations import Service

PLAN = "arn:aws:sagemaker:us-west-2:111122223333:training-plan/"


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.mark.parametrize(
    ("operation", "given"),
    [
        ("BatchRebootClusterNodes", {"NodeIds": ["i-0123456789abcdef0"]}),
        ("DeleteCluster", {}),
        ("DescribeCluster", {}),
        ("DescribeClusterNode", {"NodeId": "i-0123456789abcdef0"}),
        ("ListClusterEvents", {}),
        ("ListClusterNodes", {}),
        ("UpdateCluster", {}),
        ("UpdateClusterSoftware", {}),
    ],
)
def test_a_name_that_no_cluster_can_have_is_a_wrong_request(
    service: Service, operation: str, given: dict[str, Any]
) -> None:
    with pytest.raises(ServiceError, match="at 'clusterName' failed") as refused:
        service.call(operation, ClusterName="bad name", **given)
    assert refused.value.code == "ValidationException"
    with pytest.raises(ServiceError) as missing:
        service.call(operation, ClusterName="nobody", **given)
    assert missing.value.code == "ResourceNotFound"


def test_the_rest_of_a_request_is_held_against_the_model_too(service: Service) -> None:
    with pytest.raises(ServiceError, match="at 'imageId' failed"):
        service.call("UpdateClusterSoftware", ClusterName="c1", ImageId="ami-x")


@pytest.mark.parametrize(
    ("operation", "given"),
    [
        ("AddTags", {"Tags": [{"Key": "a", "Value": "b"}]}),
        ("DeleteTags", {"TagKeys": ["a"]}),
        ("ListTags", {}),
    ],
)
def test_tags_belong_to_what_an_arn_names(
    service: Service, operation: str, given: dict[str, Any]
) -> None:
    with pytest.raises(ServiceError, match="at 'resourceArn' failed"):
        service.call(operation, ResourceArn="c1", **given)
    service.call(operation, ResourceArn=service.cluster.arn, **given)


@pytest.mark.parametrize("key", ["aws:owner", "AWS:owner"])
def test_keys_that_only_aws_gives(service: Service, key: str) -> None:
    tags = [{"Key": key, "Value": "me"}]
    with pytest.raises(ServiceError, match="not allowed for external use") as refused:
        service.call("AddTags", ResourceArn=service.cluster.arn, Tags=tags)
    assert (refused.value.code, service.cluster.tags) == ("ValidationException", {})
    with pytest.raises(ServiceError, match="not allowed for external use"):
        service.call("CreateCluster", **request(ClusterName="c2", Tags=tags))


def test_clusters_are_listed_by_training_plan(service: Service) -> None:
    workers = group("workers", TrainingPlanArn=f"{PLAN}mine")
    service.call("CreateCluster", **request(group("head"), workers, ClusterName="planned"))

    (found,) = service.call("ListClusters", TrainingPlanArn=f"{PLAN}mine")["ClusterSummaries"]
    assert (found["ClusterName"], found["TrainingPlanArns"]) == ("planned", [f"{PLAN}mine"])
    assert service.call("ListClusters", TrainingPlanArn=f"{PLAN}other")["ClusterSummaries"] == []
    assert len(service.call("ListClusters")["ClusterSummaries"]) == 2
