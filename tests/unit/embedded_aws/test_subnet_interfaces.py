"""Interfaces of clusters that are created at the same time."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, cast

from embedded_aws.clients import Clients
from embedded_aws.cluster import InstanceGroup
from embedded_aws.sagemaker.network import SubnetInterfaces


class Ec2:
    """A subnet, and the addresses in it that are taken."""

    def __init__(self) -> None:
        self.taken: list[str] = []

    def describe_subnets(self, **_: Any) -> Any:
        subnet = {"SubnetId": "subnet-1", "VpcId": "vpc-1", "CidrBlock": "10.0.0.0/24"}
        place = {"AvailableIpAddressCount": 9, "AvailabilityZone": "us-west-2a"}
        return {"Subnets": [{**subnet, **place, "AvailabilityZoneId": "usw2-az1"}]}

    def describe_network_interfaces(self, **_: Any) -> Any:
        found = [{"PrivateIpAddress": address} for address in self.taken]
        time.sleep(0.01)  # others have a chance to take the same one
        return {"NetworkInterfaces": found}

    def create_network_interface(self, *, PrivateIpAddress: str, **_: Any) -> Any:  # noqa: N803
        self.taken.append(PrivateIpAddress)
        number = {"NetworkInterfaceId": f"eni-{PrivateIpAddress}"}
        return {"NetworkInterface": {"PrivateIpAddress": PrivateIpAddress, **number}}


def test_no_two_clusters_get_the_same_address() -> None:
    ec2 = Ec2()
    aws = cast("Clients", SimpleNamespace(ec2=ec2, region="us-west-2"))
    config = SimpleNamespace(subnet_ids=("subnet-1",), security_group_ids=("sg-1",))
    group = cast("InstanceGroup", SimpleNamespace(name="head", vpc_config=config))
    clusters = [SubnetInterfaces(aws, f"cluster-{number}") for number in range(5)]
    with ThreadPoolExecutor(len(clusters)) as threads:
        list(threads.map(lambda cluster: cluster.create_interface(group), clusters))
    assert len(set(ec2.taken)) == len(clusters)
