"""The `cluster` section: HyperPod's instance groups and what Slurm makes of them."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from slurmpod.model.base import Section
from slurmpod.model.names import KmsKeyArn, Zone
from slurmpod.model.updates import AutoPatch, ScheduledUpdate

NAME_PATTERN = r"^[a-zA-Z0-9](-*[a-zA-Z0-9])*$"
"""Names of instance groups, as CreateCluster accepts them (at most 63 characters)."""

InstanceTypeName = Annotated[
    str,
    Field(pattern=r"^ml\.[a-z0-9-]+\.[a-z0-9]+$", examples=["ml.m5.xlarge", "ml.p5.48xlarge"]),
]
"""An instance type with its `ml.` prefix."""


class Role(StrEnum):
    """What an instance group is for Slurm."""

    CONTROLLER = "controller"
    LOGIN = "login"
    WORKER = "worker"


class Group(Section):
    """One instance group: `count` equal nodes with one role."""

    name: Annotated[str, Field(pattern=NAME_PATTERN, max_length=63, examples=["workers"])]
    """Name of the instance group: letters, digits and inner hyphens."""

    role: Annotated[Role, Field(strict=False)]
    """What the nodes do: exactly one group is the controller, at most one is for logins."""

    instance_type: InstanceTypeName | None = None
    """Instance type with its `ml.` prefix."""

    instance_types: Annotated[tuple[InstanceTypeName, ...], Field(max_length=20)] = ()
    """In place of `instance_type`: several types, the most wanted first; HyperPod takes what it
    gets (continuous provisioning only)."""

    count: Annotated[int, Field(ge=0, le=6758)] = 1
    """Number of nodes."""

    min_count: Annotated[int | None, Field(ge=0, le=6758)] = None
    """Number of nodes with which the group is in service already; default: all."""

    partition: Annotated[
        str | None, Field(pattern=r"^[a-zA-Z0-9](-*[a-zA-Z0-9])*$", max_length=63, examples=["cpu"])
    ] = None
    """Slurm partition of these nodes; worker groups have one, others have none."""

    zone: Zone | None = None
    """Availability Zone of the nodes, by id or name; default: the network's `zone`."""

    capacity: Literal["on_demand", "spot"] | None = None
    """How the nodes are bought; default: on demand. Not with a training plan."""

    training_plan_arn: Annotated[
        str | None,
        Field(
            pattern=r"^arn:aws[a-z-]*:sagemaker:[a-z0-9-]*:[0-9]{12}:training-plan/.+$",
            max_length=2048,
            examples=["arn:aws:sagemaker:us-west-2:123456789012:training-plan/p5-june"],
        ),
    ] = None
    """Training plan from which the nodes come; it lies in one zone."""

    threads_per_core: Literal[1, 2] | None = None
    """Hardware threads that Slurm sees per core; default: what the instance type starts with."""

    network_interface: Literal["efa", "efa-only"] | None = None
    """Kind of the network cards after the first: with an IP address each (efa) or without
    (efa-only, which saves addresses); default: HyperPod chooses."""

    image_id: Annotated[
        str | None,
        Field(pattern=r"^ami-[0-9a-f]{8,17}$", examples=["ami-0123456789abcdef0"]),
    ] = None
    """Machine image made from a HyperPod image; default: the newest of HyperPod."""

    volume_gib: Annotated[int | None, Field(ge=1, le=16384)] = None
    """Size in GiB of an additional EBS volume at /opt/sagemaker on every node."""

    volume_kms_key_arn: KmsKeyArn | None = None
    """Key that encrypts the additional volume; default: AWS's own for EBS."""

    root_volume_kms_key_arn: KmsKeyArn | None = None
    """Key that encrypts the root volume; default: AWS's own."""

    deep_health_checks: Annotated[
        tuple[Literal["InstanceStress", "InstanceConnectivity"], ...], Field(max_length=2)
    ] = ()
    """Checks that nodes with GPUs pass before they take jobs; an hour or more."""

    scheduled_update: ScheduledUpdate | None = None
    """When HyperPod brings the nodes' software up to date by itself."""

    auto_patch: AutoPatch | None = None
    """How HyperPod patches the nodes' image with regard to running jobs."""


class Cluster(Section):
    """The HyperPod cluster: node recovery and instance groups."""

    node_recovery: Literal["Automatic", "None"] = "Automatic"
    """Whether HyperPod replaces or reboots nodes that fail their health checks."""

    provisioning: Literal["standard", "continuous"] = "standard"
    """Whether the cluster waits for all nodes, or is in service with the first ones while HyperPod
    goes on asking for the others (continuous)."""

    groups: Annotated[tuple[Group, ...], Field(min_length=1, max_length=100)]
    """The instance groups."""
