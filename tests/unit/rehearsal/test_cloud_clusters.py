"""The way of a cluster from CreateCluster to DeleteCluster, with a platform that does as told."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from slurmpod.rehearsal.cloud.cloud_only import CloudOnlyPlatform
from slurmpod.rehearsal.cloud.errors import ServiceError
from slurmpod.rehearsal.cloud.platform import Cluster, ClusterFailed
from slurmpod.rehearsal.cloud.resources.provider import ProviderError, ResourceRequest
from slurmpod.rehearsal.cloud.resources.sagemaker_cluster import Cluster as ClusterProvider
from slurmpod.rehearsal.cloud.sagemaker.clusters import Clusters
from tests.unit.rehearsal.cloud_fakes import REGION, NoClients

REQUEST = {
    "ClusterName": "c1",
    "InstanceGroups": [
        {
            "InstanceGroupName": "workers",
            "InstanceType": "ml.c5.large",
            "InstanceCount": 2,
            "ExecutionRole": "arn:aws:iam::111122223333:role/node",
        }
    ],
    "VpcConfig": {"SecurityGroupIds": ["sg-12345678"], "Subnets": ["subnet-12345678"]},
}


class Subnet:
    """EC2 with one subnet, as far as clusters use it."""

    def __init__(self, free: int = 100) -> None:
        self.free = free
        self.interfaces: dict[str, str] = {}

    def describe_security_groups(self, **_: object) -> dict[str, Any]:
        return {"SecurityGroups": []}

    def describe_subnets(self, **_: object) -> dict[str, Any]:
        subnet = {
            "SubnetId": "subnet-12345678",
            "CidrBlock": "10.1.0.0/24",
            "AvailabilityZone": "us-west-2a",
            "AvailabilityZoneId": "usw2-az2",
            "AvailableIpAddressCount": self.free - len(self.interfaces),
        }
        return {"Subnets": [subnet]}

    def describe_network_interfaces(self, **_: object) -> dict[str, Any]:
        addresses = ["10.1.0.5", *self.interfaces.values()]  # one is somebody else's
        return {"NetworkInterfaces": [{"PrivateIpAddress": address} for address in addresses]}

    def create_network_interface(
        self,
        PrivateIpAddress: str,  # noqa: N803 - EC2's name
        **_: object,
    ) -> dict[str, Any]:
        interface_id = f"eni-{len(self.interfaces)}"
        self.interfaces[interface_id] = PrivateIpAddress
        interface = {"NetworkInterfaceId": interface_id, "PrivateIpAddress": PrivateIpAddress}
        return {"NetworkInterface": interface}

    def delete_network_interface(self, NetworkInterfaceId: str) -> None:  # noqa: N803 - EC2's name
        del self.interfaces[NetworkInterfaceId]


class Obedient(CloudOnlyPlatform):
    """Waits until it may go on, and fails with what it is given."""

    def __init__(self) -> None:
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.creation_error: Exception | None = None
        self.deletion_error: Exception | None = None

    def create(self, cluster: Cluster) -> None:
        super().create(cluster)
        self.may_go_on.wait()
        if self.creation_error:
            raise self.creation_error

    def delete(self, cluster: Cluster) -> None:
        if self.deletion_error:
            raise self.deletion_error
        super().delete(cluster)


class Service:
    """Clusters over one subnet, with a way to wait for what runs in the background."""

    def __init__(self) -> None:
        self.subnet = Subnet()
        self.platform = Obedient()
        clients = NoClients()
        clients.ec2 = self.subnet  # type: ignore[attr-defined]
        self.clusters = Clusters(lambda _region: clients, self.platform)  # type: ignore[arg-type,return-value]

    def create(self) -> Cluster:
        cluster = self.clusters.create(REGION, REQUEST)
        self.settle()
        return cluster

    def settle(self) -> None:
        for thread in threading.enumerate():
            if thread.name in ("create-c1", "delete-c1"):
                thread.join()


@pytest.fixture
def service() -> Service:
    return Service()


def test_a_cluster_comes_into_service_with_its_nodes(service: Service) -> None:
    cluster = service.create()

    assert cluster.status == "InService"
    assert [node.status for node in cluster.nodes] == ["Running", "Running"]
    assert [node.private_ip for node in cluster.nodes] == [
        "10.1.0.4",  # the lowest that AWS does not keep
        "10.1.0.6",  # 10.1.0.5 is somebody else's
    ]
    assert cluster.nodes[0].private_dns_hostname == "ip-10-1-0-4.us-west-2.compute.internal"
    assert len({node.instance_id for node in cluster.nodes}) == 2
    assert cluster.arn.endswith(f":cluster/{cluster.id}")
    assert len(cluster.id) == 12


def test_a_cluster_that_is_being_created_cannot_be_deleted(service: Service) -> None:
    service.platform.may_go_on.clear()
    cluster = service.clusters.create(REGION, REQUEST)

    assert cluster.status == "Creating"
    with pytest.raises(ServiceError) as refused:
        service.clusters.delete(REGION, "c1")
    assert refused.value.code == "ConflictException"

    service.platform.may_go_on.set()
    service.settle()
    assert cluster.status == "InService"


def test_a_failed_cluster_says_why_and_can_be_deleted(service: Service) -> None:
    service.platform.creation_error = ClusterFailed("no scripts")
    cluster = service.create()

    assert (cluster.status, cluster.failure_message) == ("Failed", "no scripts")

    service.clusters.delete(REGION, cluster.arn)
    service.settle()
    assert service.clusters.all(REGION) == []
    assert service.subnet.interfaces == {}


def test_a_full_subnet_fails_the_cluster(service: Service) -> None:
    service.subnet.free = 1

    assert "No free IP address for instance group workers" in service.create().failure_message


def test_a_bug_in_the_platform_fails_the_cluster(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    service.platform.creation_error = ZeroDivisionError("oops")

    assert service.create().failure_message == (
        "Internal error of the rehearsal: ZeroDivisionError('oops')"
    )
    assert "Traceback" in caplog.text


def test_a_deletion_that_fails_does_not_wait_for_ever(service: Service) -> None:
    service.platform.deletion_error = RuntimeError("stuck")
    cluster = service.create()
    service.clusters.delete(REGION, "c1")
    service.settle()

    assert cluster.status == "Failed"
    described = {"ClusterStatus": cluster.status, "FailureMessage": cluster.failure_message}
    sagemaker = SimpleNamespace(
        delete_cluster=lambda **_: None,
        describe_cluster=lambda **_: described,
        exceptions=SimpleNamespace(ResourceNotFound=KeyError),
    )
    aws: Any = SimpleNamespace(sagemaker=sagemaker)
    with pytest.raises(ProviderError, match="stuck"):
        ClusterProvider().delete(ResourceRequest("C", "T", {}, "s", aws), cluster.arn)
