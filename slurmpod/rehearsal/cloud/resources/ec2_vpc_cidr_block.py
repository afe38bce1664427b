"""AWS::EC2::VPCCidrBlock: one more IPv4 block of a VPC."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.provider import Provider, ProviderError, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_PRIVATE = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
_NEVER_ADDED = tuple(map(IPv4Network, ("198.19.0.0/16", "169.254.0.0/16")))
_LARGEST_PREFIX, _SMALLEST_PREFIX = 16, 28


class VpcCidrBlock(Provider):
    """The association of a block with a VPC; Ref gives its id."""

    type = "AWS::EC2::VPCCidrBlock"
    supported = frozenset({"CidrBlock", "VpcId"})

    def create(self, request: ResourceRequest) -> str:
        """Associate the block."""
        ec2, properties = request.aws.ec2, request.properties
        (vpc,) = ec2.describe_vpcs(VpcIds=[properties["VpcId"]])["Vpcs"]
        existing = [IPv4Network(item["CidrBlock"]) for item in vpc["CidrBlockAssociationSet"]]
        problem = association_problem(existing, IPv4Network(properties["CidrBlock"], strict=False))
        if problem:
            raise ProviderError(problem)
        answer = ec2.associate_vpc_cidr_block(**properties)
        return answer["CidrBlockAssociation"]["AssociationId"]

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the id under its own name."""
        return {"Id": physical_id}

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Disassociate the block; EC2 refuses while there is a subnet in it."""
        ec2, vpc_id = request.aws.ec2, request.properties["VpcId"]
        block = IPv4Network(request.properties["CidrBlock"], strict=False)
        subnets = ec2.describe_subnets(Filters=[{"Name": "vpc-id", "Values": [vpc_id]}])["Subnets"]
        if any(block.supernet_of(IPv4Network(subnet["CidrBlock"])) for subnet in subnets):
            raise ProviderError(
                f"The vpc {vpc_id} currently has a subnet within CIDR block {block}"
            )
        ec2.disassociate_vpc_cidr_block(AssociationId=physical_id)


def association_problem(existing: Iterable[IPv4Network], block: IPv4Network) -> str | None:
    """Say, with EC2's words, why a VPC with `existing` blocks cannot get this one; the first leads.

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
