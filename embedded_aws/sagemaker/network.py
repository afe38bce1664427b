"""Network interfaces of cluster nodes, made in the cluster's subnets through the EC2 API."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from ipaddress import IPv4Network
from itertools import islice
from typing import Any

from botocore.exceptions import ClientError

from embedded_aws.clients import Clients
from embedded_aws.cluster import ClusterFailed, InstanceGroup, NetworkInterface
from embedded_aws.errors import ServiceError

ADDRESSES_KEPT_AT_THE_START = 3
"""For router, DNS and later use, after the network's own address (VPC user guide)."""


def check_network(aws: Clients, request: Mapping[str, Any]) -> None:
    """Look up every subnet and security group of a cluster's request.

    EC2's own error says which does not exist; raises ValidationException for those that do not
    belong together.
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
    """Creates interfaces for one cluster and knows those that still exist."""

    _lock = threading.Lock()
    """One for all clusters: between finding a free address and taking it, no other may take it."""

    def __init__(self, aws: Clients, cluster_name: str) -> None:
        self._aws = aws
        self._cluster_name = cluster_name
        self._existing: list[str] = []

    def create_interface(self, group: InstanceGroup) -> NetworkInterface:
        """Create an interface in the first of the group's subnets that has a free address."""
        with self._lock:
            for subnet_id in group.vpc_config.subnet_ids:
                subnet = self._aws.ec2.describe_subnets(SubnetIds=[subnet_id])["Subnets"][0]
                if subnet["AvailableIpAddressCount"] > 0:
                    return self._create(subnet, group)
        subnets = ", ".join(group.vpc_config.subnet_ids)
        raise ClusterFailed(
            f"No free IP address for instance group {group.name} in {subnets}. "
            "Use a larger subnet or fewer instances."
        )

    def delete_interface(self, interface_id: str) -> None:
        """Delete an interface that was created here."""
        with self._lock:
            self._existing.remove(interface_id)
        self._aws.ec2.delete_network_interface(NetworkInterfaceId=interface_id)

    def delete_all(self) -> None:
        """Delete every interface that still exists, so that the subnet can be deleted."""
        for interface_id in list(self._existing):
            self.delete_interface(interface_id)

    def _create(self, subnet: Any, group: InstanceGroup) -> NetworkInterface:
        try:
            interface = self._aws.ec2.create_network_interface(
                SubnetId=subnet["SubnetId"],
                PrivateIpAddress=self._free_address(subnet),
                Groups=list(group.vpc_config.security_group_ids),
                Description=f"HyperPod cluster {self._cluster_name}, group {group.name}",
            )["NetworkInterface"]
        except ClientError as error:
            raise ClusterFailed(str(error)) from error
        self._existing.append(interface["NetworkInterfaceId"])
        return _described(interface, subnet, self._aws.region)

    def _free_address(self, subnet: Any) -> str:
        """Return the lowest free address; moto would take any, also those that AWS keeps."""
        interfaces = self._aws.ec2.describe_network_interfaces(
            Filters=[{"Name": "subnet-id", "Values": [subnet["SubnetId"]]}]
        )["NetworkInterfaces"]
        taken = {interface["PrivateIpAddress"] for interface in interfaces}
        hosts = map(str, IPv4Network(subnet["CidrBlock"]).hosts())
        usable = islice(hosts, ADDRESSES_KEPT_AT_THE_START, None)
        return next(address for address in usable if address not in taken)


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
