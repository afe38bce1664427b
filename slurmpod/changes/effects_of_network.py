"""What changing fields does, about the VPC and its subnets: see `effects`.

Source: the "Update requires" lines of the AWS::EC2 pages of the CloudFormation reference.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from slurmpod.changes.effect import (
    IN_PLACE,
    NETWORK_AGAIN,
    NOTHING,
    SECURITY_GROUPS_AGAIN,
    Effect,
    Kind,
)
from slurmpod.model.network import (
    ExistingNetwork,
    ExistingSubnet,
    FlowLogs,
    Network,
    OtherZone,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

BLOCKS_AGAIN = Effect(
    Kind.REFUSED,
    "a block cannot be associated anew while it still is: add and remove blocks at the end of the "
    "list only",
)
"""What CloudFormation would try where a block takes the place of another in the list."""

ZONES_AGAIN = Effect(
    Kind.REFUSED,
    "subnets are numbered as the zones are, and one in use cannot be replaced by another: add and "
    "remove zones at the end of the list only",
)
PUBLIC_SUBNETS_AGAIN = Effect(
    Kind.REFUSED,
    "the public subnets of the other zones would get other ranges, and subnets in use cannot be "
    "replaced: make a new environment with a larger vpc_cidr",
)

NETWORK: Mapping[type[BaseModel], Mapping[str, Effect]] = MappingProxyType(
    {
        Network: {
            **dict.fromkeys(("zone", "existing", "vpc_cidr", "private_subnet_cidr"), NETWORK_AGAIN),
            "secondary_cidrs": Effect(
                Kind.IN_PLACE, "the VPC gets the block; subnets whose ranges are written stay"
            ),
            "other_zones": IN_PLACE,
            "nat": Effect(Kind.IN_PLACE, "connections through a NAT gateway that goes are cut"),
            "closed": Effect(
                Kind.IN_PLACE,
                "interface endpoints are made, then NAT gateways go and with them every way to the "
                "internet: connections are cut; subnets and what is in them stay",
            ),
            "interface_endpoints": IN_PLACE,
            "s3_buckets": IN_PLACE,
            "flow_logs": IN_PLACE,
        },
        OtherZone: dict.fromkeys(("zone", "private_subnet_cidr"), NETWORK_AGAIN),
        FlowLogs: {
            "traffic": IN_PLACE,
            "retention_days": Effect(
                Kind.IN_PLACE, "changed in place; with fewer days, older entries are deleted"
            ),
            "kms_key_arn": IN_PLACE,
        },
        ExistingNetwork: {
            "vpc_id": NETWORK_AGAIN,
            "subnets": IN_PLACE,
            "security_group_ids": SECURITY_GROUPS_AGAIN,
            "route_table_ids": IN_PLACE,
            "has_endpoints": NOTHING,
        },
        ExistingSubnet: {"id": NETWORK_AGAIN, "zone": NETWORK_AGAIN, "cidr": NOTHING},
    }
)

LESS_NETWORK: Mapping[tuple[type[BaseModel], str], Effect] = MappingProxyType(
    {
        (Network, "secondary_cidrs"): Effect(
            Kind.IN_PLACE,
            "the block leaves the VPC; AWS refuses that while something of yours lies in it",
        ),
        (Network, "closed"): Effect(
            Kind.IN_PLACE,
            "NAT gateways are made, then interface endpoints go; subnets and what is in them stay",
        ),
    }
)

NO_NETWORK: Mapping[type[BaseModel], Effect] = MappingProxyType(
    {
        OtherZone: Effect(Kind.IN_PLACE, "its subnet is deleted; groups in it must go first"),
        ExistingSubnet: Effect(Kind.IN_PLACE, "used no more; groups in it must go first"),
    }
)
