"""The `network` section: where the cluster lives."""

from ipaddress import IPv4Network
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from slurmpod.model.base import Section
from slurmpod.model.names import BucketName, KmsKeyArn, Zone

LARGEST_VPC_PREFIX = 16
"""AWS refuses larger VPCs (VPC user guide, VPC CIDR blocks)."""

SMALLEST_VPC_PREFIX = 24
"""Ours: half of a VPC is the nodes' subnet, and a smaller one has no room for a cluster."""

RESOURCE_ID = "([0-9a-f]{8}|[0-9a-f]{17})"
"""What follows the kind in the ids of EC2: long ones, and short ones of before 2018."""

RetentionDays = Literal[1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827]
"""What CloudWatch Logs accepts up to five years (API reference, PutRetentionPolicy)."""


def _sized_for_a_vpc(cidr: IPv4Network) -> IPv4Network:
    """Refuse here what `resolve` could not divide into subnets."""
    if LARGEST_VPC_PREFIX <= cidr.prefixlen <= SMALLEST_VPC_PREFIX:
        return cidr
    raise PydanticCustomError("vpc_size", "the VPC has a size that cannot be used")


VpcCidr = Annotated[IPv4Network, AfterValidator(_sized_for_a_vpc), Field(examples=["10.0.0.0/16"])]
SubnetCidr = Annotated[IPv4Network, Field(examples=["10.0.128.0/17"])]


class OtherZone(Section):
    """One more zone with a private subnet, for the groups that are placed there."""

    zone: Zone
    """The Availability Zone, by id or name."""

    private_subnet_cidr: SubnetCidr | None = None
    """Addresses of this zone's private subnet; default: an equal share."""


class FlowLogs(Section):
    """The record of who talked to whom in the VPC, in CloudWatch Logs."""

    traffic: Literal["ALL", "REJECT", "NONE"] = "ALL"
    """What is recorded; NONE switches flow logs off."""

    retention_days: Annotated[RetentionDays, Field(examples=[90])] = 90
    """Days after which entries are deleted."""

    kms_key_arn: KmsKeyArn | None = None
    """Key for the log group, whose policy lets CloudWatch Logs use it; default: AWS's own."""


class ExistingSubnet(Section):
    """One of your private subnets."""

    id: Annotated[
        str, Field(pattern=rf"^subnet-{RESOURCE_ID}$", examples=["subnet-0a1b2c3d4e5f60718"])
    ]
    """Id of the subnet."""

    zone: Zone
    """The Availability Zone in which it lies, by id or name."""

    cidr: SubnetCidr | None = None
    """Its addresses; when written, slurmpod checks that the nodes have room in it."""


class ExistingNetwork(Section):
    """A VPC that is there already; slurmpod changes nothing in it that it did not make."""

    vpc_id: Annotated[
        str, Field(pattern=rf"^vpc-{RESOURCE_ID}$", examples=["vpc-0a1b2c3d4e5f60718"])
    ]
    """Id of the VPC."""

    subnets: Annotated[tuple[ExistingSubnet, ...], Field(min_length=1, max_length=16)]
    """Private subnets for nodes and file systems, at most one per zone."""

    security_group_ids: Annotated[
        tuple[Annotated[str, Field(pattern=rf"^sg-{RESOURCE_ID}$", examples=["sg-0a1b2c3d"])], ...],
        Field(max_length=5),
    ] = ()
    """Security groups of nodes and file systems; default: slurmpod makes one in the VPC."""

    route_table_ids: tuple[
        Annotated[str, Field(pattern=rf"^rtb-{RESOURCE_ID}$", examples=["rtb-0a1b2c3d"])], ...
    ] = ()
    """Route tables of the subnets, when slurmpod shall make an S3 gateway endpoint for them."""

    has_endpoints: bool = False
    """Whether the VPC has the endpoints of a closed network already: slurmpod makes none then."""


class Network(Section):
    """A VPC with a private subnet in each zone and, unless closed, a way out.

    One zone by default, because EFA traffic does not cross zones and file systems should be in
    the nodes'.
    """

    zone: Zone
    """Availability Zone of all nodes and file systems unless said otherwise, by id or name: the
    one that has your capacity."""

    existing: ExistingNetwork | None = None
    """Your own VPC, in place of a new one."""

    vpc_cidr: VpcCidr | None = None
    """Addresses of the new VPC, /16 to /24; default: 10.0.0.0/16."""

    secondary_cidrs: Annotated[tuple[VpcCidr, ...], Field(max_length=4)] = ()
    """More blocks for the VPC; private subnets lie in these by default, dealt out in turn."""

    private_subnet_cidr: SubnetCidr | None = None
    """Addresses of the nodes' subnet in `zone`; default: the upper half of `vpc_cidr` or a
    secondary block, or with several zones an equal share of it."""

    other_zones: Annotated[tuple[OtherZone, ...], Field(max_length=5)] = ()
    """More zones, for groups that are placed there with their own `zone`. A further zone makes the
    default ranges of all others smaller, and those of a running cluster cannot change: write
    `private_subnet_cidr` for them first."""

    nat: Literal["one", "per_zone", "none"] | None = None
    """NAT gateways of the new VPC: `one`, one `per_zone`, or `none`; default: one, and none when
    closed."""

    closed: bool = False
    """No way to the internet at all: interface endpoints for the AWS services that nodes need."""

    interface_endpoints: tuple[
        Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$", examples=["ecr.api"])], ...
    ] = ()
    """AWS services reached by an interface endpoint, beside those that a closed network has."""

    s3_buckets: Annotated[tuple[BucketName, ...], Field(max_length=50)] = ()
    """Buckets that nodes of a closed network reach, beside those that the environment uses."""

    flow_logs: FlowLogs = Field(default_factory=FlowLogs.model_construct)
    """The record of the VPC's traffic."""
