"""Interfaces of clusters that are created at the same time."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from embedded_aws.clients import Clients
from embedded_aws.cluster import ClusterFailed, InstanceGroup
from embedded_aws.sagemaker.network import SubnetInterfaces


class Ec2:
    """A subnet, and the addresses in it that are taken."""

    def __init__(self, *taken: str) -> None:
        self.taken = set(taken)

    def describe_subnets(self, **_: Any) -> Any:
        subnet = {"SubnetId": "subnet-1", "VpcId": "vpc-1", "CidrBlock": "10.0.0.0/28"}
        place = {"AvailableIpAddressCount": 11 - len(self.taken), "AvailabilityZone": "us-west-2a"}
        return {"Subnets": [{**subnet, **place, "AvailabilityZoneId": "usw2-az1"}]}

    def create_network_interface(self, *, PrivateIpAddress: str, **_: Any) -> Any:  # noqa: N803
        if PrivateIpAddress in self.taken:
            time.sleep(0.01)  # others have a chance to take the next one
            error: Any = {"Error": {"Code": "InvalidIPAddress.InUse"}}
            raise ClientError(error, "CreateNetworkInterface")
        self.taken.add(PrivateIpAddress)
        number = {"NetworkInterfaceId": f"eni-{PrivateIpAddress}"}
        return {"NetworkInterface": {"PrivateIpAddress": PrivateIpAddress, **number}}

    def delete_network_interface(self, *, NetworkInterfaceId: str) -> None:  # noqa: N803
        self.taken.remove(NetworkInterfaceId.removeprefix("eni-"))


CONFIG = SimpleNamespace(subnet_ids=("subnet-1",), security_group_ids=("sg-1",))
GROUP = cast("InstanceGroup", SimpleNamespace(name="head", vpc_config=CONFIG))


def interfaces(ec2: Ec2, name: str = "cluster") -> SubnetInterfaces:
    return SubnetInterfaces(cast("Clients", SimpleNamespace(ec2=ec2, region="us-west-2")), name)


def made(here: SubnetInterfaces, count: int) -> list[int]:
    """Create interfaces and return the last numbers of their addresses."""
    addresses = (here.create_interface(GROUP).private_ip for _ in range(count))
    return [int(address.rpartition(".")[2]) for address in addresses]


def test_no_two_clusters_get_the_same_address() -> None:
    ec2 = Ec2()
    clusters = [interfaces(ec2, f"cluster-{number}") for number in range(5)]
    with ThreadPoolExecutor(len(clusters)) as threads:
        found = threads.map(lambda cluster: cluster.create_interface(GROUP).private_ip, clusters)
    assert set(found) == ec2.taken
    assert len(ec2.taken) == len(clusters)


def test_each_gets_the_lowest_address_that_is_free() -> None:
    here = interfaces(Ec2("10.0.0.5", "10.0.0.14"))
    assert made(here, 3) == [4, 6, 7]
    here.delete_interface("eni-10.0.0.6")
    assert made(here, 2) == [6, 8]


def test_what_others_have_freed_is_found_at_last() -> None:
    ec2 = Ec2("10.0.0.4")
    here = interfaces(ec2)
    assert made(here, 10) == [*range(5, 15)]
    with pytest.raises(ClusterFailed, match="No free IP address for instance group head"):
        made(here, 1)
    ec2.delete_network_interface(NetworkInterfaceId="eni-10.0.0.4")
    assert made(here, 1) == [4]
