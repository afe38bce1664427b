"""The `cluster` section: HyperPod's instance groups and what Slurm makes of them."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from slurmpod.model.base import Section

NAME_PATTERN = r"^[a-zA-Z0-9](-*[a-zA-Z0-9])*$"
"""Names of instance groups, as CreateCluster accepts them (at most 63 characters)."""


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

    instance_type: Annotated[
        str, Field(pattern=r"^ml\.[a-z0-9-]+\.[a-z0-9]+$", examples=["ml.m5.xlarge"])
    ]
    """Instance type with its `ml.` prefix."""

    count: Annotated[int, Field(ge=0, le=6758)] = 1
    """Number of nodes."""

    partition: Annotated[
        str | None, Field(pattern=r"^[a-zA-Z][a-zA-Z0-9_-]*$", max_length=63, examples=["cpu"])
    ] = None
    """Slurm partition of these nodes; worker groups have one, others have none."""

    threads_per_core: Literal[1, 2] | None = None
    """Hardware threads that Slurm sees per core; default: what the instance type starts with."""

    volume_gib: Annotated[int | None, Field(ge=1, le=16384)] = None
    """Size in GiB of an additional EBS volume at /opt/sagemaker on every node."""


class Cluster(Section):
    """The HyperPod cluster: node recovery and instance groups."""

    node_recovery: Literal["Automatic", "None"] = "Automatic"
    """Whether HyperPod replaces or reboots nodes that fail their health checks."""

    groups: Annotated[tuple[Group, ...], Field(min_length=1, max_length=100)]
    """The instance groups."""
