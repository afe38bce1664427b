"""What a SageMaker HyperPod cluster is inside the rehearsal, and who brings it to life.

The SageMaker service of the embedded AWS creates `Cluster` objects and answers Describe and List
calls from them; a `ClusterPlatform` fills them in. This file imports neither moto nor boto3, so
that a platform costs nothing to import.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime


class ClusterFailed(Exception):
    """A cluster could not be created; the text is what HyperPod would put in FailureMessage."""


@dataclass(frozen=True)
class LifeCycleConfig:
    """Where a group's lifecycle scripts are in S3, and which one runs when."""

    source_s3_uri: str
    on_create: str | None
    on_init_complete: str | None


@dataclass(frozen=True)
class VpcConfig:
    """The security groups and subnets in which nodes get their network interfaces."""

    security_group_ids: tuple[str, ...]
    subnet_ids: tuple[str, ...]


@dataclass(frozen=True)
class InstanceGroup:
    """One instance group, as CreateCluster was asked for it."""

    name: str
    instance_type: str
    instance_count: int
    execution_role_arn: str
    threads_per_core: int | None
    lifecycle: LifeCycleConfig | None
    vpc_config: VpcConfig
    """The group's own network if it overrides the cluster's, else the cluster's."""
    request: Mapping[str, Any]
    """The group as it stands in the CreateCluster request."""


@dataclass(frozen=True)
class NetworkInterface:
    """An elastic network interface in one of the cluster's subnets."""

    interface_id: str
    private_ip: str
    private_dns_hostname: str
    subnet_id: str
    subnet_cidr: str
    availability_zone: str
    availability_zone_id: str


class ClusterNetwork(Protocol):
    """The cluster's access to the subnets it was given, as HyperPod has it through its role."""

    def create_interface(self, group: InstanceGroup) -> NetworkInterface:
        """Create an interface for a node of `group`; raises ClusterFailed if its subnet is full."""

    def delete_interface(self, interface_id: str) -> None:
        """Delete an interface; its address becomes free."""


@dataclass
class ClusterNode:
    """One instance. Status values are SageMaker's: Pending, Running, Failure, ShuttingDown ..."""

    instance_id: str
    group: str
    instance_type: str
    private_ip: str
    private_dns_hostname: str
    launched_at: datetime
    status: str = "Pending"
    message: str = ""
    interface: NetworkInterface | None = None


@dataclass
class Cluster:
    """One cluster. Status values are SageMaker's: Creating, InService, Failed, Deleting."""

    name: str
    arn: str
    id: str
    """The 12 characters that end the ARN, name the log group and address nodes in SSM."""
    groups: tuple[InstanceGroup, ...]
    vpc_config: VpcConfig
    network: ClusterNetwork
    created_at: datetime
    request: Mapping[str, Any]
    """The CreateCluster request."""
    nodes: list[ClusterNode] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    status: str = "Creating"
    failure_message: str = ""


class ClusterPlatform(Protocol):
    """What HyperPod itself does: makes nodes out of a cluster's description."""

    def create(self, cluster: Cluster) -> None:
        """Fill `cluster.nodes` and return once it is in service; raises ClusterFailed."""

    def delete(self, cluster: Cluster) -> None:
        """Remove all nodes, also of a cluster whose creation failed half-way."""
