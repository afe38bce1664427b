"""The `network` section: where the cluster lives."""

from dataclasses import replace
from functools import cache
from ipaddress import IPv4Network
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from slurmpod.environment.base import IN_PLACE, NOTHING, REPLACEMENT, Effect, Kind, Section
from slurmpod.environment.known import Known
from slurmpod.environment.names import RESOURCE_ID, BucketName, KmsKeyArn, Zone

SERVICES_WITHOUT_POLICIES = frozenset(
    {
        "appmesh-envoy-management",
        "appstream.api",
        "appstream.streaming",
        "cloudformation",
        "cloudtrail",
        "codeguru-profiler",
        "codeguru-reviewer",
        "codepipeline",
        "config",
        "datasync",
        "ebs",
        "ecs",
        "ecs-agent",
        "ecs-telemetry",
        "email-smtp",
        "glue",
        "iotsitewise.api",
        "iotsitewise.data",
        "servicecatalog",
        "sms",
        "storagegateway",
        "transfer",
        "transfer.server",
        "workspaces",
    }
)
"""Services whose endpoints take no policy according to the AWS PrivateLink guide, in its last
version published as a repository (2022). AWS refuses an endpoint whose policy its service does not
know; some of these may support one by now.
"""


@cache
def interface_endpoint_services() -> frozenset[str]:
    """Return the names that follow `com.amazonaws.<region>.`, as the pinned aws-cdk-lib knows them.

    AWS adds services: good for warnings, never for errors.
    """
    file = Path(__file__).parents[1] / "data" / "interface_endpoint_services.txt"
    return frozenset(file.read_text(encoding="utf-8").split())


LARGEST_VPC_PREFIX = 16
"""AWS refuses larger VPCs (VPC user guide, VPC CIDR blocks)."""

SMALLEST_VPC_PREFIX = 24
"""slurmpod's limit: half of a VPC is the nodes' subnet, and a smaller one has no room for a
cluster.
"""

RetentionDays = Annotated[int, Known("logs.retention_days")]
"""What CloudWatch Logs accepts; known up to five years."""


def _sized_for_a_vpc(cidr: IPv4Network) -> IPv4Network:
    """Refuse ranges that `resolve` cannot divide into subnets."""
    if LARGEST_VPC_PREFIX <= cidr.prefixlen <= SMALLEST_VPC_PREFIX:
        return cidr
    raise PydanticCustomError("vpc_size", "the VPC has a size that cannot be used")


VpcCidr = Annotated[IPv4Network, AfterValidator(_sized_for_a_vpc), Field(examples=["10.0.0.0/16"])]
SubnetCidr = Annotated[IPv4Network, Field(examples=["10.0.128.0/17"])]

NETWORK_AGAIN = Effect(
    Kind.REFUSED,
    "subnets in use cannot be replaced: destroy the cluster (slurmpod destroy --only cluster) and "
    "make new file systems first",
    source=f"{REPLACEMENT}, of a subnet, a VPC and a cluster's VpcConfig; EC2 API reference, "
    "DeleteSubnet",
)


class OtherZone(Section):
    """An additional zone with a private subnet, for the groups placed there."""

    zone: Annotated[Zone, NETWORK_AGAIN]
    """The Availability Zone, by id or name."""

    private_subnet_cidr: Annotated[SubnetCidr | None, NETWORK_AGAIN] = None
    """Addresses of this zone's private subnet; default: an equal share."""


class FlowLogs(Section):
    """Flow logs of the VPC, in CloudWatch Logs."""

    traffic: Annotated[Literal["ALL", "REJECT", "NONE"], IN_PLACE] = "ALL"
    """Traffic to record; NONE turns flow logs off."""

    retention_days: Annotated[
        RetentionDays,
        Effect(Kind.IN_PLACE, "changed in place; with fewer days, older entries are deleted"),
        Field(examples=[90]),
    ] = 90
    """Days after which entries are deleted."""

    kms_key_arn: Annotated[KmsKeyArn | None, IN_PLACE] = None
    """Key for the log group, whose policy must let CloudWatch Logs use it; default: AWS's own."""


class ExistingSubnet(Section):
    """One of your private subnets."""

    id: Annotated[
        str,
        NETWORK_AGAIN,
        Field(pattern=rf"^subnet-{RESOURCE_ID}$", examples=["subnet-0a1b2c3d4e5f60718"]),
    ]
    """Id of the subnet."""

    zone: Annotated[Zone, NETWORK_AGAIN]
    """Its Availability Zone, by id or name."""

    cidr: Annotated[SubnetCidr | None, NOTHING] = None
    """Its addresses; if given, slurmpod checks that they suffice for the nodes."""


class ExistingNetwork(Section):
    """An existing VPC; slurmpod changes nothing in it that it did not create."""

    vpc_id: Annotated[
        str,
        NETWORK_AGAIN,
        Field(pattern=rf"^vpc-{RESOURCE_ID}$", examples=["vpc-0a1b2c3d4e5f60718"]),
    ]
    """Id of the VPC."""

    subnets: Annotated[
        tuple[ExistingSubnet, ...],
        replace(
            IN_PLACE,
            removed=Effect(Kind.IN_PLACE, "it is no longer used; remove its groups first"),
        ),
        Field(min_length=1, max_length=16),
    ]
    """Private subnets for nodes and file systems, at most one per zone."""

    security_group_ids: Annotated[
        tuple[Annotated[str, Field(pattern=rf"^sg-{RESOURCE_ID}$", examples=["sg-0a1b2c3d"])], ...],
        Effect(
            Kind.REFUSED,
            "a cluster cannot change them, and file systems that slurmpod made would be replaced "
            "by empty ones: change the rules of the groups instead",
            source=REPLACEMENT,
        ),
        Field(max_length=5),
    ] = ()
    """Security groups of nodes and file systems; default: slurmpod creates one in the VPC."""

    route_table_ids: Annotated[
        tuple[
            Annotated[str, Field(pattern=rf"^rtb-{RESOURCE_ID}$", examples=["rtb-0a1b2c3d"])], ...
        ],
        IN_PLACE,
    ] = ()
    """Route tables of the subnets, for which slurmpod creates an S3 gateway endpoint."""

    has_endpoints: Annotated[bool, NOTHING] = False
    """Whether the VPC already has the endpoints of a closed network; slurmpod then creates none."""


class Network(Section):
    """A VPC with a private subnet in each zone and, unless closed, egress.

    One zone by default, because EFA traffic does not cross zones and file systems should be in the
    nodes' zone.
    """

    zone: Annotated[Zone, NETWORK_AGAIN]
    """Availability Zone of all nodes and file systems unless said otherwise, by id or name: the
    one that has your capacity."""

    existing: Annotated[ExistingNetwork | None, NETWORK_AGAIN] = None
    """Your own VPC, in place of a new one."""

    vpc_cidr: Annotated[VpcCidr | None, NETWORK_AGAIN] = None
    """Addresses of the new VPC, /16 to /24; default: 10.0.0.0/16."""

    secondary_cidrs: Annotated[
        tuple[VpcCidr, ...],
        Effect(
            Kind.IN_PLACE,
            "the VPC gets the block; subnets with explicit ranges stay",
            less=Effect(
                Kind.IN_PLACE,
                "the block is removed from the VPC; AWS refuses while it is in use",
            ),
        ),
        Field(max_length=4),
    ] = ()
    """Additional blocks for the VPC; by default private subnets are placed in these in turn."""

    private_subnet_cidr: Annotated[SubnetCidr | None, NETWORK_AGAIN] = None
    """Addresses of the nodes' subnet in `zone`; default: the upper half of `vpc_cidr` or a
    secondary block, or with several zones an equal share of it."""

    other_zones: Annotated[
        tuple[OtherZone, ...],
        replace(
            IN_PLACE,
            removed=Effect(Kind.IN_PLACE, "its subnet is deleted; remove its groups first"),
        ),
        Field(max_length=5),
    ] = ()
    """Additional zones, for groups with a `zone`. Each one makes the default ranges of the others
    smaller, and those of a running cluster cannot change: set their `private_subnet_cidr` first.
    """

    nat: Annotated[
        Literal["one", "per_zone", "none"] | None,
        Effect(Kind.IN_PLACE, "connections through a removed NAT gateway are cut"),
    ] = None
    """NAT gateways of the new VPC: `one`, one `per_zone`, or `none`; default: one, and none when
    closed."""

    closed: Annotated[
        bool,
        Effect(
            Kind.IN_PLACE,
            "interface endpoints are created, then NAT gateways and with them all internet "
            "access are removed: connections are cut; subnets and their contents stay",
            less=Effect(
                Kind.IN_PLACE,
                "NAT gateways are created, then interface endpoints are removed; subnets and "
                "their contents stay",
            ),
        ),
    ] = False
    """No internet access: interface endpoints for the AWS services that nodes need."""

    interface_endpoints: Annotated[
        tuple[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$", examples=["ecr.api"])], ...],
        IN_PLACE,
    ] = ()
    """Additional AWS services with an interface endpoint."""

    s3_buckets: Annotated[tuple[BucketName, ...], IN_PLACE, Field(max_length=50)] = ()
    """Additional buckets that nodes of a closed network can reach."""

    flow_logs: Annotated[FlowLogs, IN_PLACE] = Field(default_factory=FlowLogs.model_construct)
    """Flow logs of the VPC's traffic."""
