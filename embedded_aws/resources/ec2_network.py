"""EC2: VPCs, their secondary blocks, subnets and flow logs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Network
from typing import Any, ClassVar

from embedded_aws.resources.api_resource import ApiResource, DescribeCall
from embedded_aws.resources.provider import ProviderError, ResourceRequest
from embedded_aws.resources.tags import Tagging, as_keys, as_pairs, tags_of

_PRIVATE = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
_NEVER_ADDED = tuple(map(IPv4Network, ("198.19.0.0/16", "169.254.0.0/16")))
_LARGEST_PREFIX, _SMALLEST_PREFIX = 16, 28


class Ec2Resource(ApiResource):
    """A resource of EC2, where all resource types share the calls for tags."""

    service = "ec2"
    kind: ClassVar[str]
    """EC2's resource type for tags at creation."""
    tagging = Tagging(
        "Resources", tag="create_tags", untag="delete_tags", keys="Tags", write_keys=as_keys
    )

    def tag_arguments(self, request: ResourceRequest) -> dict[str, Any]:
        """Return the TagSpecifications with which the resource is created."""
        tags = as_pairs(tags_of(request.properties))
        return {"TagSpecifications": [{"ResourceType": self.kind, "Tags": tags}]} if tags else {}


class Vpc(Ec2Resource):
    """A VPC; its default security group and network ACL come with it."""

    type = "AWS::EC2::VPC"
    kind = "vpc"
    apart = frozenset({"EnableDnsHostnames", "EnableDnsSupport"})
    in_place = apart | {"Tags"}
    supported = in_place | {"CidrBlock", "InstanceTenancy"}
    creation, deletion = "create_vpc", "delete_vpc"
    identity = "VpcId"
    answer = ("Vpc", "VpcId")
    described_by = DescribeCall("describe_vpcs", "VpcIds", ("Vpcs", 0))
    id_attributes = ("VpcId",)
    given_attributes = ("CidrBlock",)

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Set the DNS attributes; each needs a separate call."""
        for name, default in (("EnableDnsSupport", True), ("EnableDnsHostnames", False)):
            value = {"Value": request.properties.get(name, default)}
            self.call(request, "modify_vpc_attribute", {"VpcId": physical_id, name: value})

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Look up the VPC's default resources and blocks."""
        ec2 = request.aws.ec2
        in_vpc: Any = {"Name": "vpc-id", "Values": [physical_id]}
        groups = ec2.describe_security_groups(
            Filters=[in_vpc, {"Name": "group-name", "Values": ["default"]}]
        )["SecurityGroups"]
        acls = ec2.describe_network_acls(Filters=[in_vpc, {"Name": "default", "Values": ["true"]}])
        blocks = self.described(request.aws, physical_id)["CidrBlockAssociationSet"]
        return {
            **super().attributes(request, physical_id),
            "CidrBlockAssociations": [block["AssociationId"] for block in blocks],
            "DefaultSecurityGroup": groups[0]["GroupId"],
            "DefaultNetworkAcl": acls["NetworkAcls"][0]["NetworkAclId"],
        }


_IPV6 = "AmazonProvidedIpv6CidrBlock"


class VpcCidrBlock(Ec2Resource):
    """The association of one more IPv4 block with a VPC; Ref gives its id."""

    type = "AWS::EC2::VPCCidrBlock"
    supported = frozenset({_IPV6, "CidrBlock", "VpcId"})
    creation, deletion = "associate_vpc_cidr_block", "disassociate_vpc_cidr_block"
    identity = "AssociationId"
    answer = ("CidrBlockAssociation", "AssociationId")
    id_attributes = ("Id",)

    def create(self, request: ResourceRequest) -> str:
        """Associate the block."""
        if request.properties.get(_IPV6):
            raise ProviderError(f"{_IPV6} is not supported by the embedded AWS")
        (vpc,) = request.aws.ec2.describe_vpcs(VpcIds=[request.properties["VpcId"]])["Vpcs"]
        existing = [IPv4Network(item["CidrBlock"]) for item in vpc["CidrBlockAssociationSet"]]
        problem = association_problem(existing, _block(request))
        if problem:
            raise ProviderError(problem)
        return super().create(request)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Disassociate the block; EC2 refuses while there is a subnet in it."""
        vpc_id, block = request.properties["VpcId"], _block(request)
        subnets = request.aws.ec2.describe_subnets(
            Filters=[{"Name": "vpc-id", "Values": [vpc_id]}]
        )["Subnets"]
        if any(block.supernet_of(IPv4Network(subnet["CidrBlock"])) for subnet in subnets):
            raise ProviderError(
                f"The vpc {vpc_id} currently has a subnet within CIDR block {block}"
            )
        super().delete(request, physical_id)


class Subnet(Ec2Resource):
    """A subnet, in a zone given by name or by zone id."""

    type = "AWS::EC2::Subnet"
    kind = "subnet"
    in_place = frozenset({"MapPublicIpOnLaunch", "Tags"})
    supported = in_place | {"AvailabilityZone", "AvailabilityZoneId", "CidrBlock", "VpcId"}
    apart = frozenset({"AvailabilityZone", "AvailabilityZoneId", "MapPublicIpOnLaunch"})
    creation, deletion = "create_subnet", "delete_subnet"
    identity = "SubnetId"
    answer = ("Subnet", "SubnetId")
    described_by = DescribeCall("describe_subnets", "SubnetIds", ("Subnets", 0))
    id_attributes = ("SubnetId",)
    read_attributes: ClassVar = {
        name: (name,) for name in ("VpcId", "CidrBlock", "AvailabilityZone", "AvailabilityZoneId")
    }

    def arguments(self, request: ResourceRequest) -> dict[str, Any]:
        """Return the properties, with the zone by its name."""
        return {**super().arguments(request), "AvailabilityZone": zone_name(request)}

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Set whether instances get public addresses."""
        public = {"Value": request.properties.get("MapPublicIpOnLaunch", False)}
        arguments = {"SubnetId": physical_id, "MapPublicIpOnLaunch": public}
        self.call(request, "modify_subnet_attribute", arguments)

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Look up the zone and the network ACL association."""
        acls = request.aws.ec2.describe_network_acls(
            Filters=[{"Name": "association.subnet-id", "Values": [physical_id]}]
        )["NetworkAcls"]
        associations = [
            association["NetworkAclAssociationId"]
            for acl in acls
            for association in acl["Associations"]
            if association["SubnetId"] == physical_id
        ]
        attributes = super().attributes(request, physical_id)
        return {**attributes, "NetworkAclAssociationId": associations[0]}

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the subnet; EC2 refuses while there is a network interface in it."""
        require_unused(request, "subnet-id", physical_id)
        super().delete(request, physical_id)


class FlowLog(Ec2Resource):
    """A flow log of a VPC, subnet or network interface."""

    type = "AWS::EC2::FlowLog"
    kind = "vpc-flow-log"
    supported = frozenset(
        {
            "DeliverLogsPermissionArn",
            "LogDestination",
            "LogDestinationType",
            "LogFormat",
            "LogGroupName",
            "MaxAggregationInterval",
            "ResourceId",
            "ResourceType",
            "Tags",
            "TrafficType",
        }
    )
    in_place = frozenset({"Tags"})
    apart = frozenset({"ResourceId"})
    creation, deletion = "create_flow_logs", "delete_flow_logs"
    identity = "FlowLogIds"
    answer = ("FlowLogIds", 0)
    id_attributes = ("Id",)

    def arguments(self, request: ResourceRequest) -> dict[str, Any]:
        """Return the properties, with the one resource in a list."""
        return {**super().arguments(request), "ResourceIds": [request.properties["ResourceId"]]}

    def call(self, request: ResourceRequest, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call EC2; raises ProviderError for failures listed in the response."""
        answer = super().call(request, name, arguments)
        for failure in answer.get("Unsuccessful", []):
            raise ProviderError(failure["Error"]["Message"])
        return answer


def association_problem(existing: Iterable[IPv4Network], block: IPv4Network) -> str | None:
    """Return EC2's message if a VPC cannot get this block; the first of `existing` is primary.

    Source: VPC user guide, VPC CIDR blocks, "IPv4 CIDR block association restrictions".
    """
    blocks = list(existing)
    if not _LARGEST_PREFIX <= block.prefixlen <= _SMALLEST_PREFIX:
        return f"The CIDR '{block}' is invalid."
    for other in blocks:
        if other.overlaps(block):
            return f"The CIDR '{block}' conflicts with the CIDR '{other}' of the VPC."
    if _is_restricted(blocks, block):
        return (
            f"The CIDR '{block}' is restricted. Use a CIDR from the same private address range as "
            "the current VPC CIDR, or use a publicly-routable CIDR. For additional restrictions, "
            "see https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html"
        )
    return None


def _is_restricted(existing: list[IPv4Network], block: IPv4Network) -> bool:
    own_range = [private for private in _PRIVATE if existing[0].subnet_of(private)]
    foreign = [private for private in _PRIVATE if private not in own_range]
    lowest = any(other.subnet_of(IPv4Network("10.0.0.0/15")) for other in existing)
    forbidden = [
        *foreign,
        *_NEVER_ADDED,
        *([IPv4Network("10.0.0.0/16")] if lowest else []),
        *([IPv4Network("172.31.0.0/16")] if _PRIVATE[1] in own_range else []),
    ]
    return any(block.overlaps(other) for other in forbidden)


def zone_name(request: ResourceRequest) -> str:
    """Return the name of the zone that the properties give by name or id, else the region's first.

    Raises ProviderError, with EC2's message, for a zone that the Region does not have.
    """
    zones = request.aws.ec2.describe_availability_zones()["AvailabilityZones"]
    by_name = {zone["ZoneName"]: zone["ZoneName"] for zone in zones}
    by_id = {zone["ZoneId"]: zone["ZoneName"] for zone in zones}
    given = request.given("AvailabilityZone", "AvailabilityZoneId")
    if len(given) > 1:
        raise ProviderError("AvailabilityZone and AvailabilityZoneId cannot be given together")
    for name, wanted in given.items():
        known = by_name if name == "AvailabilityZone" else by_id
        if wanted not in known:
            raise ProviderError(
                f"Value ({wanted}) for parameter a{name[1:]} is invalid. Subnets can currently "
                f"only be created in the following availability zones: {', '.join(sorted(known))}."
            )
        return known[wanted]
    return min(by_name)


def require_unused(request: ResourceRequest, interface_filter: str, resource_id: str) -> None:
    """Raise ProviderError, with EC2's message, if the filter finds any interface."""
    interfaces = request.aws.ec2.describe_network_interfaces(
        Filters=[{"Name": interface_filter, "Values": [resource_id]}]
    )["NetworkInterfaces"]
    users = sorted({interface["Description"] or "?" for interface in interfaces})
    if users:
        raise ProviderError(
            f"resource {resource_id} has dependencies and cannot be deleted (DependencyViolation): "
            f"network interfaces of: {'; '.join(users)}"
        )


def _block(request: ResourceRequest) -> IPv4Network:
    return IPv4Network(request.properties["CidrBlock"], strict=False)
