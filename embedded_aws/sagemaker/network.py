"""Network interfaces of cluster nodes, created in the cluster's subnets through the EC2 API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network
from itertools import chain
from typing import Any

from botocore.exceptions import ClientError

from embedded_aws.clients import Clients
from embedded_aws.cluster import ClusterFailed, InstanceGroup, NetworkInterface
from embedded_aws.errors import ServiceError
from embedded_aws.moto_network import usable_addresses


def check_network(aws: Clients, request: Mapping[str, Any]) -> None:
    """Look up every subnet and security group of a cluster's request.

    Raises EC2's own error for a missing one, and ValidationException if they are not in one VPC.
    """
    cluster_vpc = _vpc_of(aws, request["VpcConfig"], "VpcConfig")
    for group in request["InstanceGroups"]:
        if "OverrideVpcConfig" not in group:
            continue
        where = f"OverrideVpcConfig of instance group {group['InstanceGroupName']}"
        if _vpc_of(aws, group["OverrideVpcConfig"], where) != cluster_vpc:
            raise ServiceError(
                "ValidationException", f"{where} is not in the VPC of the cluster, {cluster_vpc}"
            )


class SubnetInterfaces:
    """Creates interfaces for one cluster and tracks the existing ones."""

    def __init__(self, aws: Clients, cluster_name: str) -> None:
        self._aws = aws
        self._cluster_name = cluster_name
        self._existing: dict[str, NetworkInterface] = {}
        self._lowest: dict[str, int] = {}
        """The address in each subnet, as a number, at which the search for a free one starts."""

    def create_interface(self, group: InstanceGroup) -> NetworkInterface:
        """Create an interface in the first of the group's subnets that has a free address."""
        for subnet_id in group.vpc_config.subnet_ids:
            subnet = self._aws.ec2.describe_subnets(SubnetIds=[subnet_id])["Subnets"][0]
            if subnet["AvailableIpAddressCount"] > 0 and (made := self._create(subnet, group)):
                return made
        subnets = ", ".join(group.vpc_config.subnet_ids)
        raise ClusterFailed(
            f"No free IP address for instance group {group.name} in {subnets}. "
            "Use a larger subnet or fewer instances."
        )

    def delete_interface(self, interface_id: str) -> None:
        """Delete an interface that was created here."""
        deleted = self._existing.pop(interface_id)
        self._aws.ec2.delete_network_interface(NetworkInterfaceId=interface_id)
        freed = int(IPv4Address(deleted.private_ip))
        self._lowest[deleted.subnet_id] = min(freed, self._lowest[deleted.subnet_id])

    def delete_all(self) -> None:
        """Delete every interface that still exists, so that the subnet can be deleted."""
        for interface_id in list(self._existing):
            self.delete_interface(interface_id)

    def _create(self, subnet: Any, group: InstanceGroup) -> NetworkInterface | None:
        """Create an interface with the lowest free address; None if the subnet is full.

        EC2 is not asked for the addresses in use: the response grows with every node.
        """
        for address in self._candidates(subnet):
            if interface := self._create_at(subnet, group, address):
                made = _described(interface, subnet, self._aws.region)
                self._existing[made.interface_id] = made
                self._lowest[made.subnet_id] = int(address) + 1
                return made
        return None

    def _candidates(self, subnet: Any) -> Iterator[IPv4Address]:
        """Yield all addresses, those not known to be in use first."""
        usable = usable_addresses(IPv4Network(subnet["CidrBlock"]))
        lowest = self._lowest.get(subnet["SubnetId"], usable.start)
        numbers = chain(range(lowest, usable.stop), range(usable.start, lowest))
        return map(IPv4Address, numbers)

    def _create_at(self, subnet: Any, group: InstanceGroup, address: IPv4Address) -> Any:
        """Create an interface with this address; None if it is in use."""
        try:
            return self._aws.ec2.create_network_interface(
                SubnetId=subnet["SubnetId"],
                PrivateIpAddress=str(address),
                Groups=list(group.vpc_config.security_group_ids),
                Description=f"HyperPod cluster {self._cluster_name}, group {group.name}",
            )["NetworkInterface"]
        except ClientError as error:
            if error.response["Error"]["Code"] == "InvalidIPAddress.InUse":
                return None
            raise ClusterFailed(str(error)) from error


def _vpc_of(aws: Clients, config: Mapping[str, Any], where: str) -> str:
    subnets = aws.ec2.describe_subnets(SubnetIds=config["Subnets"])["Subnets"]
    groups = aws.ec2.describe_security_groups(GroupIds=config["SecurityGroupIds"])["SecurityGroups"]
    vpcs = {item["VpcId"] for item in (*subnets, *groups)}
    if len(vpcs) > 1:
        raise ServiceError(
            "ValidationException",
            f"Subnets and security groups of {where} are in {', '.join(sorted(vpcs))}; they must "
            "be in one VPC",
        )
    return vpcs.pop()


def _described(interface: Any, subnet: Mapping[str, Any], region: str) -> NetworkInterface:
    address = str(interface["PrivateIpAddress"])
    domain = "ec2.internal" if region == "us-east-1" else f"{region}.compute.internal"
    return NetworkInterface(
        interface_id=interface["NetworkInterfaceId"],
        private_ip=address,
        private_dns_hostname=f"ip-{address.replace('.', '-')}.{domain}",
        subnet_id=subnet["SubnetId"],
        subnet_cidr=subnet["CidrBlock"],
        availability_zone=subnet["AvailabilityZone"],
        availability_zone_id=subnet["AvailabilityZoneId"],
        vpc_id=subnet["VpcId"],
    )
