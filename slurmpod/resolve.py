"""Environment -> Resolved: every name, address range, count and path, computed once.

Pure: the same environment gives the same result, and nothing here reads a clock, the network or
another file than the catalog. It also answers for environments that rules will refuse (an unknown
instance type, a subnet outside its VPC), so that all problems can be reported together.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from slurmpod.model.catalog import InstanceType, instance_types

if TYPE_CHECKING:
    from collections.abc import Mapping
    from ipaddress import IPv4Network

    from slurmpod.model.cluster import Group, Role
    from slurmpod.model.environment import Environment
    from slurmpod.model.network import Network
    from slurmpod.model.storage import Lustre

ADDRESSES_KEPT_BY_AWS = 5
"""AWS keeps the first four and the last address of every subnet (VPC user guide)."""

LUSTRE_GIB_PER_SERVER = 2400
"""One object storage server, with one address, per 2.4 TiB of SSD (FSx for Lustre user guide)."""

SMALLEST_SUBNET_PREFIX = 28
BUCKET_NAME_LIMIT = 63
ALL_NODES_PARTITION = "dev"
"""HyperPod puts every node in this partition, beside the partition of its group."""


@dataclass(frozen=True)
class StackNames:
    """The CloudFormation stacks of an environment, in the order of their deployment."""

    network: str
    storage: str
    lifecycle: str
    identity: str
    cluster: str

    def in_order(self) -> tuple[str, ...]:
        """Return the names as they are deployed; destroying goes the other way."""
        return tuple(getattr(self, field.name) for field in fields(self))


@dataclass(frozen=True)
class Subnet:
    """A subnet's addresses, and how many of them the environment takes when all nodes run."""

    cidr: IPv4Network
    addresses_needed: int

    @property
    def addresses_usable(self) -> int:
        """Addresses that AWS leaves to its user."""
        return self.cidr.num_addresses - ADDRESSES_KEPT_BY_AWS


@dataclass(frozen=True)
class ResolvedNetwork:
    """The VPC of an environment with its two subnets in one zone."""

    zone: str
    vpc_cidr: IPv4Network
    public: Subnet
    private: Subnet


@dataclass(frozen=True)
class ResolvedFileSystem:
    """The FSx for Lustre file system; sizes as its API takes them."""

    capacity_gib: int
    throughput_mbps_per_tib: int
    compression: str
    mount_path: str
    servers: int


@dataclass(frozen=True)
class ResolvedLifecycle:
    """Where the lifecycle scripts lie. The content hash is appended to `prefix` when rendered."""

    bucket: str
    prefix: str
    entry_script: str
    step_timeout_seconds: int


@dataclass(frozen=True)
class ResolvedGroup:
    """One instance group and what Slurm makes of it. `facts` is None for an unknown type."""

    name: str
    role: Role
    instance_type: str
    facts: InstanceType | None
    count: int
    partition: str | None
    threads_per_core: int
    volume_gib: int | None
    addresses_per_node: int


@dataclass(frozen=True)
class Resolved:
    """Everything about one environment, ready for stacks, scripts and the rehearsal."""

    name: str
    account: str
    region: str
    aws_partition: str
    protected: bool
    tags: Mapping[str, str]
    stacks: StackNames
    network: ResolvedNetwork
    file_system: ResolvedFileSystem
    lifecycle: ResolvedLifecycle
    node_recovery: str
    groups: tuple[ResolvedGroup, ...]
    accounting: bool

    def groups_with(self, role: Role) -> tuple[ResolvedGroup, ...]:
        """Return the instance groups of one role, in the order of the file."""
        return tuple(group for group in self.groups if group.role is role)

    def arn(self, service: str, resource: str) -> str:
        """Return the ARN of a resource in this account and Region."""
        return f"arn:{self.aws_partition}:{service}:{self.region}:{self.account}:{resource}"


def resolve(environment: Environment) -> Resolved:
    """Compute everything that follows from `environment`."""
    groups = tuple(_resolve_group(group) for group in environment.cluster.groups)
    file_system = _resolve_file_system(environment.storage.lustre)
    return Resolved(
        name=environment.name,
        account=environment.account,
        region=environment.region,
        aws_partition=partition_of(environment.region),
        protected=environment.protected,
        tags={"slurmpod:environment": environment.name, **environment.tags},
        stacks=StackNames(
            **{field.name: f"{environment.name}-{field.name}" for field in fields(StackNames)}
        ),
        network=_resolve_network(environment.network, groups, file_system),
        file_system=file_system,
        lifecycle=ResolvedLifecycle(
            bucket=bucket_name(environment.name, environment.account, environment.region),
            prefix="lifecycle",
            entry_script="on_create.sh",
            step_timeout_seconds=environment.lifecycle.step_timeout_seconds,
        ),
        node_recovery=environment.cluster.node_recovery,
        groups=groups,
        accounting=environment.slurm.accounting,
    )


def partition_of(region: str) -> str:
    """Return the AWS partition of a Region, which ARNs begin with."""
    if region.startswith("us-gov-"):
        return "aws-us-gov"
    if region.startswith("cn-"):
        return "aws-cn"
    return "aws"


def bucket_name(name: str, account: str, region: str) -> str:
    """Return the lifecycle bucket's name: at most 63 characters, unique per account and Region.

    It begins with `sagemaker-`, because the managed HyperPod policy reads no other buckets.
    """
    full = f"sagemaker-{name}-{account}-{region}"
    if len(full) <= BUCKET_NAME_LIMIT:
        return full
    digest = hashlib.sha256(full.encode()).hexdigest()[:12]
    kept = full[: BUCKET_NAME_LIMIT - len(digest) - 1].rstrip("-")
    return f"{kept}-{digest}"


def _resolve_group(group: Group) -> ResolvedGroup:
    facts = instance_types().get(group.instance_type)
    default_threads = facts.default_threads_per_core if facts else 1
    return ResolvedGroup(
        name=group.name,
        role=group.role,
        instance_type=group.instance_type,
        facts=facts,
        count=group.count,
        partition=group.partition,
        threads_per_core=group.threads_per_core or default_threads,
        volume_gib=group.volume_gib,
        addresses_per_node=facts.network_cards if facts else 1,
    )


def _resolve_file_system(lustre: Lustre) -> ResolvedFileSystem:
    metadata_servers = 1
    object_storage_servers = -(-lustre.capacity_gib // LUSTRE_GIB_PER_SERVER)
    return ResolvedFileSystem(
        capacity_gib=lustre.capacity_gib,
        throughput_mbps_per_tib=lustre.throughput_mbps_per_tib,
        compression=lustre.compression,
        mount_path=lustre.mount_path,
        servers=metadata_servers + object_storage_servers,
    )


def _resolve_network(
    network: Network, groups: tuple[ResolvedGroup, ...], file_system: ResolvedFileSystem
) -> ResolvedNetwork:
    """Give the nodes the upper half of the VPC: a subnet cannot grow later, addresses are free."""
    lower_half, upper_half = network.vpc_cidr.subnets(prefixlen_diff=1)
    public_prefix = min(max(24, lower_half.prefixlen), SMALLEST_SUBNET_PREFIX)
    nat_gateway_addresses = 1
    nodes = sum(group.count * group.addresses_per_node for group in groups)
    return ResolvedNetwork(
        zone=network.zone,
        vpc_cidr=network.vpc_cidr,
        public=Subnet(
            cidr=next(lower_half.subnets(new_prefix=public_prefix)),
            addresses_needed=nat_gateway_addresses,
        ),
        private=Subnet(
            cidr=network.private_subnet_cidr or upper_half,
            addresses_needed=nodes + file_system.servers,
        ),
    )
