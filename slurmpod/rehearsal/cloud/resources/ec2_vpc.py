"""AWS::EC2::VPC."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.ec2_tags import retag, tag_specifications
from slurmpod.rehearsal.cloud.resources.provider import Provider, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping


class Vpc(Provider):
    """A VPC; its default security group and network ACL come with it."""

    type = "AWS::EC2::VPC"
    supported = frozenset(
        {"CidrBlock", "EnableDnsHostnames", "EnableDnsSupport", "InstanceTenancy", "Tags"}
    )
    in_place = frozenset({"EnableDnsHostnames", "EnableDnsSupport", "Tags"})

    def create(self, request: ResourceRequest) -> str:
        """Create the VPC."""
        vpc = request.aws.ec2.create_vpc(
            TagSpecifications=tag_specifications("vpc", request),
            **request.given("CidrBlock", "InstanceTenancy"),
        )["Vpc"]
        return vpc["VpcId"]

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Set the DNS attributes; each needs a call of its own."""
        dns_support = request.properties.get("EnableDnsSupport", True)
        dns_hostnames = request.properties.get("EnableDnsHostnames", False)
        ec2 = request.aws.ec2
        ec2.modify_vpc_attribute(VpcId=physical_id, EnableDnsSupport={"Value": dns_support})
        ec2.modify_vpc_attribute(VpcId=physical_id, EnableDnsHostnames={"Value": dns_hostnames})

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Look up what came with the VPC."""
        ec2 = request.aws.ec2
        in_vpc: Any = {"Name": "vpc-id", "Values": [physical_id]}
        groups = ec2.describe_security_groups(
            Filters=[in_vpc, {"Name": "group-name", "Values": ["default"]}]
        )["SecurityGroups"]
        acls = ec2.describe_network_acls(Filters=[in_vpc, {"Name": "default", "Values": ["true"]}])[
            "NetworkAcls"
        ]
        (vpc,) = ec2.describe_vpcs(VpcIds=[physical_id])["Vpcs"]
        blocks = vpc["CidrBlockAssociationSet"]
        return {
            "VpcId": physical_id,
            "CidrBlock": request.properties["CidrBlock"],
            "CidrBlockAssociations": [block["AssociationId"] for block in blocks],
            "DefaultSecurityGroup": groups[0]["GroupId"],
            "DefaultNetworkAcl": acls[0]["NetworkAclId"],
        }

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Set DNS attributes and tags anew."""
        self.complete(request, physical_id)
        retag(request, physical_id, previous)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the VPC."""
        request.aws.ec2.delete_vpc(VpcId=physical_id)
