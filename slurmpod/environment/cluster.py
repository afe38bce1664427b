"""The `cluster` section: HyperPod's instance groups and what Slurm makes of them."""

from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from slurmpod.environment.base import (
    IN_PLACE,
    MIGRATION_GUIDE,
    NEW_NODES,
    UPDATE_GUIDE,
    Effect,
    Kind,
    Section,
)
from slurmpod.environment.known import Known
from slurmpod.environment.names import RESOURCE_ID, KmsKeyArn, Zone

ALARMS = Effect(Kind.IN_PLACE, "changed in place; applies from the next update")


class Rollout(Section):
    """An update in batches, which alarms can roll back."""

    batch_count: Annotated[int | None, ALARMS, Field(ge=1, le=6758)] = None
    """Number of nodes updated at a time; or write `batch_percent`."""

    batch_percent: Annotated[int | None, ALARMS, Field(ge=1, le=100)] = None
    """Percentage of the nodes updated at a time."""

    rollback_batch_count: Annotated[int | None, ALARMS, Field(ge=1, le=6758)] = None
    """Number of nodes rolled back at a time; or write `rollback_batch_percent`."""

    rollback_batch_percent: Annotated[int | None, ALARMS, Field(ge=1, le=100)] = None
    """Percentage of the nodes rolled back at a time."""

    wait_seconds: Annotated[int | None, ALARMS, Field(ge=0, le=3600)] = None
    """Time between two batches, in which alarms can go off."""

    rollback_alarms: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=255)], ...],
        ALARMS,
        Field(max_length=10),
    ] = ()
    """Names of CloudWatch alarms that roll the update back."""


class ScheduledUpdate(Section):
    """A regular update of the nodes' software."""

    schedule: Annotated[
        str,
        ALARMS,
        Field(pattern=r"^cron\([^()]+\)$", max_length=256, examples=["cron(0 3 ? * SUN *)"]),
    ]
    """When it begins, as cron(minute hour day month weekday year) in UTC."""

    rollout: Annotated[Rollout | None, ALARMS] = None
    """Batches in which the nodes are updated; default: all nodes at once."""


class AutoPatch(Section):
    """Patches of the nodes' image that wait for running jobs; HyperPod sets the dates.

    On the date all nodes of the group stop taking jobs, for 24 hours at most, and nodes that are
    not idle by then keep the old image.
    """

    # NextPatchDate is no key here: for CloudFormation it is read-only (resource schema), and
    # IdleWaitWindowInSeconds it does not have at all.
    strategy: Annotated[str, Known("cluster.groups.auto_patch.strategy"), ALARMS]
    """Patch each node as soon as it is idle, or the whole group once all its nodes are."""

    rollout: Annotated[Rollout | None, ALARMS] = None
    """Batches in which the nodes are patched; default: HyperPod chooses."""


NAME_PATTERN = r"^[a-zA-Z0-9](-*[a-zA-Z0-9])*$"
"""Names of instance groups, as CreateCluster accepts them (at most 63 characters)."""

InstanceTypeName = Annotated[
    str,
    Field(pattern=r"^ml\.[a-z0-9-]+\.[a-z0-9]+$", examples=["ml.m5.xlarge", "ml.p5.48xlarge"]),
]
"""An instance type with its `ml.` prefix."""

NodeRecovery = Annotated[str, Known("cluster.node_recovery")]
"""Whether HyperPod replaces or reboots nodes that fail their health checks."""

GROUP_AGAIN = Effect(
    Kind.REFUSED,
    "a group cannot change it: add a group with another name, move the jobs, remove this group; "
    "for the controller, destroy the cluster (slurmpod destroy --only cluster), then deploy",
    of_cluster=True,
    source=UPDATE_GUIDE,
)
GROUP_AGAIN_UNSAID = replace(
    GROUP_AGAIN,
    source="",
    doubt="UpdateCluster accepts it, but AWS does not document whether it may change for an "
    "existing group, nor what happens to its nodes",
)
OTHER_PARTITION = Effect(
    Kind.NEW_NODES,
    "HyperPod adds the new partition to slurm.conf; with the strategy Merge the old one stays, "
    "with its nodes, and its pending jobs keep waiting",
    of_cluster=True,
    source=f'{MIGRATION_GUIDE}, "Choose a Slurm configuration strategy"',
    doubt="the page covers added partitions, not renamed ones",
)
OTHER_PROVISIONING = Effect(
    Kind.LOSES,
    "changed in place; AWS documents no way back",
    of_cluster=True,
    source=f"{MIGRATION_GUIDE}, which mentions a later migration to continuous provisioning",
    doubt="AWS documents neither its steps nor the effect on running jobs; an older version of the "
    'page "Continuous provisioning for enhanced cluster operations with Slurm" says that a '
    "cluster cannot be migrated, the newer one does not",
)
NODES_GO = Effect(
    Kind.LOSES,
    "nodes are deleted with their volumes; jobs on them end",
    of_cluster=True,
)


class Role(StrEnum):
    """Role of an instance group in Slurm."""

    CONTROLLER = "controller"
    LOGIN = "login"
    WORKER = "worker"


class Group(Section):
    """One instance group: `count` equal nodes with one role."""

    name: Annotated[
        str, GROUP_AGAIN, Field(pattern=NAME_PATTERN, max_length=63, examples=["workers"])
    ]
    """Name of the instance group: letters, digits and inner hyphens."""

    role: Annotated[Role, GROUP_AGAIN_UNSAID, Field(strict=False)]
    """What the nodes do: exactly one group is the controller, at most one is for logins."""

    instance_type: Annotated[InstanceTypeName | None, GROUP_AGAIN] = None
    """Instance type with its `ml.` prefix."""

    instance_types: Annotated[tuple[InstanceTypeName, ...], IN_PLACE, Field(max_length=20)] = ()
    """In place of `instance_type`: several types, the most wanted first; HyperPod takes what it
    gets (continuous provisioning only)."""

    count: Annotated[int, replace(IN_PLACE, less=NODES_GO), Field(ge=0, le=6758)] = 1
    """Number of nodes."""

    min_count: Annotated[int | None, IN_PLACE, Field(ge=0, le=6758)] = None
    """Number of nodes with which the group is already in service; default: all."""

    partition: Annotated[
        str | None,
        replace(
            OTHER_PARTITION,
            in_customer_mode=Effect(
                Kind.NEW_NODES,
                "changed in provisioning_parameters.json; a running controller keeps the old "
                "name until HyperPod's agent reads the file again: see `sinfo` afterwards",
                of_cluster=True,
            ),
        ),
        Field(pattern=r"^[a-zA-Z0-9](-*[a-zA-Z0-9])*$", max_length=63, examples=["cpu"]),
    ] = None
    """Slurm partition of these nodes; for worker groups, which need one."""

    zone: Annotated[Zone | None, GROUP_AGAIN_UNSAID] = None
    """Availability Zone of the nodes, by id or name; default: the network's `zone`."""

    capacity: Annotated[Literal["on_demand", "spot"] | None, GROUP_AGAIN_UNSAID] = None
    """How the nodes are bought; default: on demand. Not with a training plan."""

    training_plan_arn: Annotated[
        str | None,
        GROUP_AGAIN_UNSAID,
        Field(
            pattern=r"^arn:aws[a-z-]*:sagemaker:[a-z0-9-]*:[0-9]{12}:training-plan/.+$",
            max_length=2048,
            examples=["arn:aws:sagemaker:us-west-2:123456789012:training-plan/p5-june"],
        ),
    ] = None
    """Training plan that provides the nodes; it is in one zone."""

    threads_per_core: Annotated[Literal[1, 2] | None, GROUP_AGAIN] = None
    """Hardware threads that Slurm sees per core; default: what the instance type starts with."""

    network_interface: Annotated[
        str | None, Known("cluster.groups.network_interface"), GROUP_AGAIN_UNSAID
    ] = None
    """Kind of the network cards after the first: with an IP address each (efa) or without
    (efa-only, which saves addresses); default: HyperPod chooses."""

    image_id: Annotated[
        str | None,
        Effect(
            Kind.LOSES,
            "the nodes get the image, and lose the contents of their root volumes",
            of_cluster=True,
        ),
        Field(pattern=rf"^ami-{RESOURCE_ID}$", examples=["ami-0123456789abcdef0"]),
    ] = None
    """Machine image made from a HyperPod image; default: HyperPod's newest."""

    volume_gib: Annotated[int | None, NEW_NODES, Field(ge=1, le=16384)] = None
    """Size in GiB of an additional EBS volume at /opt/sagemaker on every node."""

    volume_kms_key_arn: Annotated[KmsKeyArn | None, GROUP_AGAIN_UNSAID] = None
    """Key that encrypts the additional volume; default: AWS's own for EBS."""

    root_volume_kms_key_arn: Annotated[KmsKeyArn | None, GROUP_AGAIN_UNSAID] = None
    """Key that encrypts the root volume; default: AWS's own."""

    deep_health_checks: Annotated[
        tuple[Annotated[str, Known("cluster.groups.deep_health_checks")], ...],
        NEW_NODES,
        Field(max_length=3),
    ] = ()
    """Checks that nodes with GPUs pass before they take jobs; an hour or more."""

    scheduled_update: Annotated[ScheduledUpdate | None, IN_PLACE] = None
    """When HyperPod updates the nodes' software on a schedule."""

    auto_patch: Annotated[AutoPatch | None, IN_PLACE] = None
    """How HyperPod patches the nodes' image while jobs run."""


class Cluster(Section):
    """The HyperPod cluster: node recovery and instance groups."""

    node_recovery: Annotated[NodeRecovery, IN_PLACE] = "Automatic"
    """Whether HyperPod replaces or reboots nodes that fail their health checks."""

    provisioning: Annotated[Literal["standard", "continuous"], OTHER_PROVISIONING] = "standard"
    """Whether the cluster waits for all nodes, or is in service with the first ones while HyperPod
    keeps requesting the others (continuous); default: `standard`; with `edition: 2026`
    `continuous`, where `lifecycle.mode` is not `customer`.
    """

    groups: Annotated[
        tuple[Group, ...], replace(IN_PLACE, removed=NODES_GO), Field(min_length=1, max_length=100)
    ]
    """The instance groups."""

    @property
    def names_images(self) -> bool:
        """Whether any group specifies its image; otherwise HyperPod uses its newest."""
        return any(each.image_id for each in self.groups)
