"""AWS::SageMaker::Cluster: what CloudFormation changes in place, replaces, and takes back."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from embedded_aws.cluster import Cluster, ClusterFailed, InstanceGroup
from embedded_aws.interface import CloudOnlyPlatform
from embedded_aws.resources.provider import ProviderError, ResourceRequest
from embedded_aws.resources.sagemaker import Cluster as ClusterProvider
from embedded_aws.sagemaker import describe
from embedded_aws.sagemaker.clusters import Clusters
from tests.pure.embedded_aws.cloud_fakes import REGION, NoClients
from tests.pure.embedded_aws.cluster_requests import group, request
from tests.pure.embedded_aws.test_clusters import Subnet

TYPE = "AWS::SageMaker::Cluster"
BEFORE = request(group("head"), group("cpu", 2))


class Picky(CloudOnlyPlatform):
    """Refuses to have more than three nodes in a group."""

    def update(self, cluster: Cluster, desired: tuple[InstanceGroup, ...]) -> None:
        if any(item.instance_count > 3 for item in desired):
            raise ClusterFailed("no capacity")
        super().update(cluster, desired)


class SageMaker:
    """The service without a wire: as much of boto3's client as the resource uses."""

    def __init__(self) -> None:
        clients = NoClients()
        clients.ec2 = Subnet()  # type: ignore[attr-defined]
        self.clusters = Clusters(lambda _region: clients, Picky())  # type: ignore[arg-type,return-value]
        self.tags: list[str] = []

    def create_cluster(self, **given: Any) -> dict[str, str]:
        return {"ClusterArn": self.clusters.create(REGION, given).arn}

    def update_cluster(self, **given: Any) -> None:
        self.clusters.update(REGION, given)

    def describe_cluster(self, ClusterName: str) -> dict[str, Any]:  # noqa: N803 - SageMaker's name
        for thread in threading.enumerate():
            if thread.name.endswith("-c1"):
                thread.join()
        return describe.cluster_shape(self.clusters.find(REGION, ClusterName))

    def delete_tags(self, ResourceArn: str, TagKeys: list[str]) -> None:  # noqa: N803
        self.tags = [key for key in self.tags if key not in TagKeys]

    def add_tags(self, ResourceArn: str, Tags: list[dict[str, str]]) -> None:  # noqa: N803
        self.tags += [tag["Key"] for tag in Tags]


class Resource:
    """One cluster of a stack, and the last properties that it was given."""

    def __init__(self) -> None:
        self.sagemaker = SageMaker()
        self.arn = ClusterProvider().create(self._request(BEFORE))

    def change(self, previous: dict[str, Any], properties: dict[str, Any]) -> dict[str, int]:
        """Update the resource; return how many nodes each group has then."""
        ClusterProvider().update(self._request(properties), self.arn, previous)
        cluster = self.sagemaker.clusters.find(REGION, self.arn)
        return {item.name: len(cluster.members(item.name)) for item in cluster.groups}

    def _request(self, properties: dict[str, Any]) -> ResourceRequest:
        aws: Any = SimpleNamespace(sagemaker=self.sagemaker, service=lambda _name: self.sagemaker)
        return ResourceRequest("Cluster", TYPE, properties, "stack", aws)


@pytest.fixture
def resource() -> Resource:
    return Resource()


def test_counts_and_groups_change_in_place(resource: Resource) -> None:
    after = request(group("head"), group("cpu", 3), group("gpu", 1))
    assert resource.change(BEFORE, after) == {"head": 1, "cpu": 3, "gpu": 1}
    assert resource.change(after, BEFORE) == {"head": 1, "cpu": 2}


def test_tags_are_set_anew(resource: Resource) -> None:
    tagged = request(*BEFORE["InstanceGroups"], Tags=[{"Key": "team", "Value": "ml"}])
    resource.change(BEFORE, tagged)
    assert resource.sagemaker.tags == ["team"]
    resource.change(tagged, BEFORE)
    assert resource.sagemaker.tags == []


def test_what_fails_can_be_taken_back(resource: Resource) -> None:
    too_much = request(group("head"), group("cpu", 9), group("gpu", 1))
    with pytest.raises(ProviderError, match="no capacity"):
        resource.change(BEFORE, too_much)
    assert resource.change(too_much, BEFORE) == {"head": 1, "cpu": 2}


def test_name_and_network_replace_the_cluster() -> None:
    other = {"SecurityGroupIds": ["sg-87654321"], "Subnets": ["subnet-12345678"]}
    provider = ClusterProvider()
    assert provider.replaces(BEFORE, {**BEFORE, "ClusterName": "c2"})
    assert provider.replaces(BEFORE, {**BEFORE, "VpcConfig": other})
    assert not provider.replaces(BEFORE, request(group("head")))


def test_the_provisioning_mode_changes_in_place() -> None:
    continuous = {**BEFORE, "NodeProvisioningMode": "Continuous"}
    assert ClusterProvider().fixed(BEFORE, continuous) == []
    assert not ClusterProvider().replaces(BEFORE, continuous)
