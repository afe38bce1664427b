"""The `network` section: where the cluster lives."""

from ipaddress import IPv4Network
from typing import Annotated

from pydantic import Field

from slurmpod.model.base import Section


class Network(Section):
    """A VPC with one public and one private subnet in one Availability Zone.

    One zone, because EFA traffic does not cross zones and FSx for Lustre should be in the nodes'.
    """

    zone: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d[a-z]$", examples=["us-west-2b"])]
    """Availability Zone of all nodes and of the file system: the one that has your capacity."""

    vpc_cidr: IPv4Network = IPv4Network("10.0.0.0/16")
    """Addresses of the VPC, /16 to /24."""

    private_subnet_cidr: IPv4Network | None = None
    """Addresses of the nodes' subnet, inside `vpc_cidr`; default: its upper half."""
