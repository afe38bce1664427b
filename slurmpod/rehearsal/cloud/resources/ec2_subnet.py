"""AWS::EC2::Subnet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.ec2_dependencies import require_unused
from slurmpod.rehearsal.cloud.resources.ec2_tags import retag, tag_specifications
from slurmpod.rehearsal.cloud.resources.ec2_zones import zone_name
from slurmpod.rehearsal.cloud.resources.provider import Provider, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping


class Subnet(Provider):
    """A subnet, in a zone given by name or by zone id."""

    type = "AWS::EC2::Subnet"
    supported = frozenset(
        {
            "AvailabilityZone",
            "AvailabilityZoneId",
            "CidrBlock",
            "MapPublicIpOnLaunch",
            "Tags",
            "VpcId",
        }
    )
    in_place = frozenset({"MapPublicIpOnLaunch", "Tags"})

    def create(self, request: ResourceRequest) -> str:
        """Create the subnet."""
        subnet = request.aws.ec2.create_subnet(
            TagSpecifications=tag_specifications("subnet", request),
            AvailabilityZone=zone_name(request),
            **request.given("VpcId", "CidrBlock"),
        )["Subnet"]
        return subnet["SubnetId"]

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Say whether instances get public addresses."""
        request.aws.ec2.modify_subnet_attribute(
            SubnetId=physical_id,
            MapPublicIpOnLaunch={"Value": request.properties.get("MapPublicIpOnLaunch", False)},
        )

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Look up the zone and the network ACL association."""
        ec2 = request.aws.ec2
        subnet = ec2.describe_subnets(SubnetIds=[physical_id])["Subnets"][0]
        acls = ec2.describe_network_acls(
            Filters=[{"Name": "association.subnet-id", "Values": [physical_id]}]
        )["NetworkAcls"]
        associations = [
            association["NetworkAclAssociationId"]
            for acl in acls
            for association in acl["Associations"]
            if association["SubnetId"] == physical_id
        ]
        return {
            "SubnetId": physical_id,
            "VpcId": subnet["VpcId"],
            "CidrBlock": subnet["CidrBlock"],
            "AvailabilityZone": subnet["AvailabilityZone"],
            "AvailabilityZoneId": subnet["AvailabilityZoneId"],
            "NetworkAclAssociationId": associations[0],
        }

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Set public addresses and tags anew."""
        self.complete(request, physical_id)
        retag(request, physical_id, previous)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the subnet; EC2 refuses while there is a network interface in it."""
        require_unused(request, "subnet-id", physical_id)
        request.aws.ec2.delete_subnet(SubnetId=physical_id)
