"""The `network` section: where the cluster lives."""

from ipaddress import IPv4Network
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from slurmpod.model.base import Section

LARGEST_VPC_PREFIX = 16
"""AWS refuses larger VPCs (VPC user guide, VPC CIDR blocks)."""

SMALLEST_VPC_PREFIX = 24
"""Ours: half of a VPC is the nodes' subnet, and a smaller one has no room for a cluster."""


def _sized_for_a_vpc(cidr: IPv4Network) -> IPv4Network:
    """Refuse here what `resolve` could not divide into subnets."""
    if LARGEST_VPC_PREFIX <= cidr.prefixlen <= SMALLEST_VPC_PREFIX:
        return cidr
    raise PydanticCustomError("vpc_size", "the VPC has a size that cannot be used")


class Network(Section):
    """A VPC with one public and one private subnet in one Availability Zone.

    One zone, because EFA traffic does not cross zones and FSx for Lustre should be in the nodes'.
    """

    zone: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9][a-z]$", examples=["us-west-2b"])]
    """Availability Zone of all nodes and of the file system: the one that has your capacity."""

    vpc_cidr: Annotated[
        IPv4Network, AfterValidator(_sized_for_a_vpc), Field(examples=["10.0.0.0/16"])
    ] = IPv4Network("10.0.0.0/16")
    """Addresses of the VPC, /16 to /24."""

    private_subnet_cidr: Annotated[IPv4Network | None, Field(examples=["10.0.128.0/17"])] = None
    """Addresses of the nodes' subnet, inside `vpc_cidr`; default: its upper half."""
