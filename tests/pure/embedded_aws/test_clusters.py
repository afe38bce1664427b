"""The life of a cluster, from CreateCluster to DeleteCluster, with a platform that does as told."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from embedded_aws.cluster import Cluster, ClusterFailed, InstanceGroup
from embedded_aws.errors import ServiceError
from embedded_aws.interface import CloudOnlyPlatform
from embedded_aws.resources.provider import ProviderError, ResourceRequest
from embedded_aws.resources.sagemaker import Cluster as ClusterProvider
from embedded_aws.sagemaker.clusters import Clusters
from tests.pure.embedded_aws.cloud_fakes import REGION, NoClients
from tests.pure.embedded_aws.cluster_requests import COMPUTE, CONTROLLER, group, request

REQUEST = request(group("workers", 2))
OF_ANOTHER = "10.1.0.5"


class Subnet:
    """EC2 with one subnet, as far as clusters use it; any other is in another VPC."""

    def __init__(self, free: int = 100) -> None:
        self.free = free
        self.interfaces: dict[str, str] = {}

    def describe_security_groups(self, **_: object) -> dict[str, Any]:
        return {"SecurityGroups": [{"VpcId": "vpc-1"}]}

    def describe_subnets(self, SubnetIds: list[str]) -> dict[str, Any]:  # noqa: N803 - EC2's name
        subnet = {
            "VpcId": "vpc-1" if SubnetIds == ["subnet-12345678"] else "vpc-2",
            "SubnetId": "subnet-12345678",
            "CidrBlock": "10.1.0.0/24",
            "AvailabilityZone": "us-west-2a",
            "AvailabilityZoneId": "usw2-az2",
            "AvailableIpAddressCount": self.free - len(self.interfaces),
        }
        return {"Subnets": [subnet]}

    def describe_availability_zones(self) -> dict[str, Any]:
        zones = [("us-west-2a", "usw2-az2"), ("us-west-2b", "usw2-az1")]
        return {"AvailabilityZones": [{"ZoneName": n, "ZoneId": i} for n, i in zones]}

    def describe_network_interfaces(self, **_: object) -> dict[str, Any]:
        here = {"AvailabilityZone": "us-west-2a"}
        return {"NetworkInterfaces": [{"PrivateIpAddress": OF_ANOTHER, **here}]}

    def create_network_interface(
        self,
        PrivateIpAddress: str,  # noqa: N803 - EC2's name
        **_: object,
    ) -> dict[str, Any]:
        if PrivateIpAddress in (OF_ANOTHER, *self.interfaces.values()):
            error: Any = {"Error": {"Code": "InvalidIPAddress.InUse"}}
            raise ClientError(error, "CreateNetworkInterface")
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
        self.update_error: Exception | None = None
        self.deletion_error: Exception | None = None

    def create(self, cluster: Cluster) -> None:
        super().update(cluster, cluster.groups)
        self.may_go_on.wait()
        if self.creation_error:
            raise self.creation_error

    def update(self, cluster: Cluster, desired: tuple[InstanceGroup, ...]) -> None:
        self.may_go_on.wait()
        if self.update_error:
            raise self.update_error
        super().update(cluster, desired)

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
        self.events: list[Any] = []
        self.clusters = Clusters(
            lambda _region: clients,  # type: ignore[arg-type,return-value]
            self.platform,
            lambda _clients, event: self.events.append(event),
        )

    def told(self) -> list[tuple[str, str]]:
        """Return status and failure message of each state change that was sent."""
        details = [event["detail"] for event in self.events]
        return [(detail["ClusterStatus"], detail["FailureMessage"]) for detail in details]

    def create(self, asked: dict[str, Any] = REQUEST) -> Cluster:
        cluster = self.clusters.create(REGION, asked)
        self.settle()
        return cluster

    def update(self, *groups: dict[str, Any], **more: object) -> Cluster:
        update = {"ClusterName": "c1", **more}
        if groups:
            update["InstanceGroups"] = list(groups)
        cluster = self.clusters.update(REGION, update)
        self.settle()
        return cluster

    def settle(self) -> None:
        for thread in threading.enumerate():
            if thread.name in ("create-c1", "update-c1", "delete-c1"):
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


def test_an_update_adds_and_takes_away_nodes_and_groups(service: Service) -> None:
    cluster = service.create()
    first, second = cluster.nodes

    service.update(group("workers", 3), group("more", 1))
    assert cluster.nodes[:2] == [first, second]
    assert [node.group for node in cluster.nodes] == ["workers", "workers", "workers", "more"]

    service.update(group("workers", 1), InstanceGroupsToDelete=["more"])
    assert cluster.nodes == [first]
    assert [item.name for item in cluster.groups] == ["workers"]
    assert len(service.subnet.interfaces) == 1
    assert cluster.status == "InService"


def test_a_group_may_have_no_nodes(service: Service) -> None:
    cluster = service.create(request(group("controller"), group("workers", 0)))
    assert [node.group for node in cluster.nodes] == ["controller"]
    service.update(group("workers", 2))
    assert [node.group for node in cluster.nodes] == ["controller", "workers", "workers"]


def test_an_update_is_under_way_until_it_is_made(service: Service) -> None:
    cluster = service.create()
    service.platform.may_go_on.clear()
    service.clusters.update(REGION, {"ClusterName": "c1", "InstanceGroups": [group("workers", 3)]})

    assert cluster.status == "Updating"
    with pytest.raises(ServiceError, match="in Updating status and cannot be updated") as refused:
        service.clusters.update(REGION, {"ClusterName": "c1"})
    assert refused.value.code == "ConflictException"
    with pytest.raises(ServiceError, match="in Updating status and cannot be deleted"):
        service.clusters.delete(REGION, "c1")

    service.platform.may_go_on.set()
    service.settle()
    assert cluster.status == "InService"


def test_a_continuously_provisioned_cluster_has_its_new_targets_at_once(service: Service) -> None:
    groups = group("head", SlurmConfig=CONTROLLER), group("cpu", SlurmConfig=COMPUTE)
    cluster = service.create(request(*groups, NodeProvisioningMode="Continuous"))
    service.clusters.update(REGION, {"ClusterName": "c1", "InstanceGroups": [group("cpu", 2)]})

    assert cluster.status == "InService"
    assert cluster.group("cpu").instance_count == 2


def test_an_update_goes_on_from_what_the_platform_made_of_a_group(service: Service) -> None:
    cluster = service.create(request(group("head"), group("workers", 2)))
    (head, workers) = cluster.groups
    reduced = {**workers.request, "InstanceCount": 0}
    cluster.groups = (head, replace(workers, instance_count=0, request=reduced))
    service.update(group("more"))
    assert {item.name: item.instance_count for item in cluster.groups} == {
        "head": 1,
        "workers": 0,
        "more": 1,
    }


def test_an_update_that_fails_leaves_the_cluster_in_service_and_says_why(service: Service) -> None:
    cluster = service.create()
    service.platform.update_error = ClusterFailed("no scripts")
    slurm = {"Slurm": {"SlurmConfigStrategy": "Managed"}}
    service.update(group("workers", 9), Orchestrator=slurm)

    assert (cluster.status, cluster.failure_message) == ("InService", "no scripts")
    assert cluster.request == REQUEST
    assert cluster.settings.strategy == "Merge"

    service.platform.update_error = None
    assert service.update(group("workers", 3)).failure_message == ""


def test_a_network_in_another_vpc_is_refused(service: Service) -> None:
    elsewhere = {"SecurityGroupIds": ["sg-12345678"], "Subnets": ["subnet-87654321"]}
    with pytest.raises(ServiceError, match="are in vpc-1, vpc-2; they must be in one VPC"):
        service.clusters.create(REGION, request(group("a", OverrideVpcConfig=elsewhere)))


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
    aws: Any = SimpleNamespace(sagemaker=sagemaker, service=lambda _name: sagemaker)
    with pytest.raises(ProviderError, match="stuck"):
        ClusterProvider().delete(ResourceRequest("C", "T", {}, "s", aws), cluster.arn)


def test_every_change_of_the_status_is_sent_as_an_event(service: Service) -> None:
    service.create()
    service.update(group("workers", 3))
    service.platform.update_error = ClusterFailed("no capacity")
    service.update(group("workers", 4))
    service.clusters.delete(REGION, "c1")
    service.settle()

    assert service.told() == [
        ("Creating", ""),
        ("InService", ""),
        ("Updating", ""),
        ("InService", ""),
        ("Updating", ""),
        ("InService", "no capacity"),
        ("Deleting", "no capacity"),
    ]
    first = service.events[0]
    assert (first["source"], first["detail-type"]) == (
        "aws.sagemaker",
        "SageMaker HyperPod Cluster State Change",
    )
    assert first["resources"] == [first["detail"]["ClusterArn"]]
    assert json.loads(json.dumps(first)) == first, "an event is JSON"


def test_a_cluster_that_fails_says_why_in_its_event(service: Service) -> None:
    service.platform.creation_error = ClusterFailed("Lifecycle scripts did not run successfully")
    service.create()

    assert service.told()[-1] == ("Failed", "Lifecycle scripts did not run successfully")


def test_a_cluster_comes_whether_or_not_anybody_can_be_told(service: Service) -> None:
    def refuse(*_: object) -> None:
        raise ServiceError("InternalError", "EventBridge is away")

    service.clusters._send = refuse

    assert service.create().status == "InService"
