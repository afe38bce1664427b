"""SageMaker HyperPod clusters as the embedded AWS stores them, and the interface to their network.

The SageMaker service creates `Cluster` objects and answers Describe and List calls from them; a
`ClusterPlatform` (see `interface`) fills them in. This file imports neither moto nor boto3, so that
platforms import quickly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Protocol

from embedded_aws.ids import ids

RUNNING = "Running"
DEEP_HEALTH_CHECK = "DeepHealthCheckInProgress"
"""Node statuses of the SageMaker API."""


class ClusterFailed(Exception):
    """A cluster operation failed; the text becomes FailureMessage."""


class StillAtWork(ClusterFailed):
    """Another operation on the node is in progress until `wait` returns; nothing was started."""

    def __init__(self, message: str, wait: Callable[[], None]) -> None:
        super().__init__(message)
        self.wait = wait


class NodeType(StrEnum):
    """The role of a group's nodes in Slurm, as named by the SageMaker API."""

    CONTROLLER = "Controller"
    LOGIN = "Login"
    COMPUTE = "Compute"


@dataclass(frozen=True)
class LifeCycleConfig:
    """The location of a group's lifecycle scripts in S3 and its entry script: one of the two."""

    source_s3_uri: str
    on_create: str | None
    on_init_complete: str | None

    @property
    def entry_script(self) -> str:
        """The script that runs: at creation or when initialization completes."""
        return self.on_create or self.on_init_complete or ""


@dataclass(frozen=True)
class SlurmConfig:
    """A group's Slurm configuration in the API; compute groups have a partition."""

    node_type: NodeType
    partition: str | None


@dataclass(frozen=True)
class FileSystemMount:
    """A shared file system of a group: `source` is what `mount -t <kind>` takes."""

    kind: str
    source: str
    path: str


@dataclass(frozen=True)
class VpcConfig:
    """The security groups and subnets in which nodes get their network interfaces."""

    security_group_ids: tuple[str, ...]
    subnet_ids: tuple[str, ...]


@dataclass(frozen=True)
class InstanceGroup:
    """One instance group, as requested in CreateCluster."""

    name: str
    instance_type: str
    instance_count: int
    execution_role_arn: str
    threads_per_core: int | None
    lifecycle: LifeCycleConfig | None
    """None if the image configures the nodes and no script runs."""
    vpc_config: VpcConfig
    """The group's network if it overrides the cluster's, else the cluster's."""
    request: Mapping[str, Any]
    """The group's entry in the request."""
    min_instance_count: int = 0
    slurm: SlurmConfig | None = None
    mounts: tuple[FileSystemMount, ...] = ()

    @property
    def image_id(self) -> str | None:
        """The image for its nodes, if the request names one."""
        return self.request.get("ImageId")

    @property
    def deep_health_checks(self) -> tuple[str, ...]:
        """The checks that its new nodes must pass before they accept jobs."""
        return tuple(self.request.get("OnStartDeepHealthChecks", ()))

    @property
    def configures_itself(self) -> bool:
        """Whether HyperPod sets its nodes up from the image, Slurm included.

        With an OnCreate script it does not: the script does all of that.
        """
        return self.lifecycle is None or self.lifecycle.on_create is None


@dataclass(frozen=True)
class AccountingDatabase:
    """The external database for Slurm's job records."""

    endpoint: str
    port: int
    name: str
    secret_arn: str


@dataclass(frozen=True)
class ClusterSettings:
    """Settings of the whole cluster.

    `strategy` says how slurm.conf is written again: Merge, Managed or Overwrite.
    `accounting_database` is None where job records stay on the controller.
    """

    is_continuous: bool
    strategy: str
    accounting_database: AccountingDatabase | None


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
    vpc_id: str


class ClusterNetwork(Protocol):
    """The cluster's access to its subnets, which HyperPod has through its role."""

    def create_interface(self, group: InstanceGroup) -> NetworkInterface:
        """Create an interface for a node of `group`; raises ClusterFailed if its subnet is full."""

    def delete_interface(self, interface_id: str) -> None:
        """Delete an interface, which frees its address."""


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
    logical_id: str = field(default_factory=lambda: ids.uuid("node"))
    """Unchanged when another instance replaces it."""
    updated_at: datetime | None = None
    """Time of its last software update, if any."""
    image_id: str | None = None
    """The image that it runs, if a request named one."""
    is_leaving: bool = False
    """Whether it is being removed, so that no operation may start on it."""
    failed_checks: int = 0
    """Consecutive instances of this node that failed their deep health checks."""

    def renew(self, image_id: str | None) -> None:
        """Record a software update."""
        self.updated_at, self.image_id = datetime.now(UTC), image_id

    @property
    def is_up(self) -> bool:
        """Whether it runs, including for deep health checks only."""
        return self.status in (RUNNING, DEEP_HEALTH_CHECK)


@dataclass(frozen=True)
class ClusterEvent:
    """One event: its subject, its description, and metadata under the API's names."""

    resource_type: str
    description: str
    metadata_name: str
    metadata: Mapping[str, Any]
    group: str | None = None
    instance_id: str | None = None
    failure: str | None = None
    operation_id: str | None = None
    warns: bool = False
    event_id: str = field(default_factory=lambda: ids.uuid("event of a cluster"))
    time: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def level(self) -> str:
        """The event's severity."""
        if self.failure is not None:
            return "Error"
        return "Warn" if self.warns else "Info"


@dataclass
class ClusterOperation:
    """A long-running operation on a cluster: `Scaling` or `DeepHealthCheck`.

    `details` are by group, in the API's shape; statuses are SageMaker's.
    """

    kind: str
    details: tuple[Mapping[str, Any], ...]
    status: str = "InProgress"
    id: str = field(default_factory=lambda: ids.uuid("operation on a cluster"))
    began_at: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass
class Cluster:
    """One cluster. Status values are SageMaker's: Creating, InService, Updating, Failed ..."""

    name: str
    arn: str
    id: str
    """The 12 characters that end the ARN, name the log group and address nodes in SSM."""
    groups: tuple[InstanceGroup, ...]
    settings: ClusterSettings
    vpc_config: VpcConfig
    network: ClusterNetwork
    created_at: datetime
    request: Mapping[str, Any]
    """The CreateCluster request, including later changes by UpdateCluster."""
    tell: Callable[[Mapping[str, Any]], None] = field(default=lambda _: None, repr=False)
    """Sends an event about the cluster to EventBridge."""
    has_ended: Callable[[str], bool] = field(default=lambda _: False, repr=False)
    """Returns whether the training plan with this ARN has ended."""
    nodes: list[ClusterNode] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    controller_group: str = ""
    """The group of Slurm controllers, once known."""
    events: list[ClusterEvent] = field(default_factory=list)
    operations: list[ClusterOperation] = field(default_factory=list)
    software_updates: dict[str, str] = field(default_factory=dict)
    """The status of the last UpdateClusterSoftware, by group."""
    status: str = "Creating"
    failure_message: str = ""

    def group(self, name: str) -> InstanceGroup:
        """Return the group with this name."""
        return next(group for group in self.groups if group.name == name)

    def lacks_plan(self, group_name: str) -> bool:
        """Return whether a group has a training plan that has ended."""
        arn = self.group(group_name).request.get("TrainingPlanArn")
        return arn is not None and self.has_ended(arn)

    def members(self, group_name: str) -> list[ClusterNode]:
        """Return the nodes of a group, oldest first."""
        return [node for node in list(self.nodes) if node.group == group_name]


def new_node(cluster: Cluster, group: InstanceGroup) -> ClusterNode:
    """Return a pending node of `group` with an id and an address in its subnet.

    Raises ClusterFailed when the subnet has no address left.
    """
    interface = cluster.network.create_interface(group)
    return ClusterNode(
        instance_id=new_instance_id(),
        group=group.name,
        instance_type=group.instance_type,
        private_ip=interface.private_ip,
        private_dns_hostname=interface.private_dns_hostname,
        launched_at=datetime.now(UTC),
        interface=interface,
        image_id=group.image_id,
    )


def new_instance_id() -> str:
    """Return an instance id in EC2's format."""
    return ids.prefixed("i")


def resized(group: InstanceGroup, count: int) -> InstanceGroup:
    """Return a group as if it had been requested with `count` instances."""
    smallest = min(group.min_instance_count, count)
    request = {**group.request, "InstanceCount": count}
    if "MinInstanceCount" in request:
        request["MinInstanceCount"] = smallest
    return replace(group, instance_count=count, min_instance_count=smallest, request=request)


def with_image(group: InstanceGroup, image_id: str) -> InstanceGroup:
    """Return a group as if it had been requested with another image."""
    return replace(group, request={**group.request, "ImageId": image_id})


def staying_members(cluster: Cluster, group_name: str) -> list[ClusterNode]:
    """Return the nodes of a group that are not being removed, oldest first."""
    return [node for node in cluster.members(group_name) if not node.is_leaving]


def surplus_nodes(cluster: Cluster, desired: tuple[InstanceGroup, ...]) -> list[ClusterNode]:
    """Return the nodes in excess of the desired groups: the newest of each group.

    HyperPod chooses at random (developer guide, "Scaling down").
    """
    counts = {group.name: group.instance_count for group in desired}
    names = dict.fromkeys(node.group for node in list(cluster.nodes))
    return [
        node for name in names for node in staying_members(cluster, name)[counts.get(name, 0) :]
    ]


@dataclass(frozen=True)
class BatchSize:
    """The batch size of an update: a number of instances, or a percentage of all."""

    value: int
    is_percentage: bool

    def of(self, count: int) -> int:
        """Return the size for a cluster of `count` instances, at least one."""
        return max(1, count * self.value // 100 if self.is_percentage else self.value)


ALL_AT_ONCE = BatchSize(100, is_percentage=True)


@dataclass(frozen=True)
class SoftwareUpdate:
    """A software update of the nodes of some groups, in batches."""

    groups: tuple[str, ...]
    batch: BatchSize = ALL_AT_ONCE
    rollback_batch: BatchSize = ALL_AT_ONCE

    @property
    def strategy(self) -> str:
        """The name of the update strategy in the cluster's events."""
        return "AllAtOnce" if self.batch == ALL_AT_ONCE else "Rolling"
