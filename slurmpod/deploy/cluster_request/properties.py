"""Properties of a cluster: what its request is made of, whoever it is made for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from slurmpod.deploy.references import HasKeyArn, HasRoleArn, HasSecurityGroupId, HasSubnetId
from slurmpod.environment.cluster import Group, NodeRecovery
from slurmpod.environment.lifecycle import LifecycleMode


class LifecycleScripts(Protocol):
    """Scripts that HyperPod runs on every new node, such as a `LifecycleBundle`."""

    @property
    def source_s3_uri(self) -> str:
        """Where HyperPod fetches them."""

    @property
    def entry_script(self) -> str:
        """The file that it starts."""


class MountedLustre(Protocol):
    """A Lustre file system that nodes mount, such as a `LustreFileSystem`."""

    @property
    def dns_name(self) -> str:
        """Name of the server."""

    @property
    def mount_name(self) -> str:
        """Name of the file system on it."""

    @property
    def mount_path(self) -> str:
        """Folder on every node."""


class MountedOpenZfs(Protocol):
    """An OpenZFS file system that nodes mount, such as an `OpenZfsFileSystem`."""

    @property
    def dns_name(self) -> str:
        """Name of the server."""

    @property
    def mount_path(self) -> str:
        """Folder on every node."""


@dataclass(frozen=True)
class AccountingDatabase:
    """A database outside the cluster for job records; `name` where somebody chose one."""

    endpoint: str
    port: int | str
    secret_arn: str
    name: str | None = None


@dataclass(frozen=True)
class InstanceGroup:
    """Equal nodes: what an environment says of them in `cluster.groups`, and what they are given.

    Without a `subnet` they are in that of the cluster; `zone` of the settings says nothing here.
    The keys take the place of those that the settings name.
    """

    settings: Group
    execution_role: HasRoleArn
    subnet: HasSubnetId | None = None
    volume_key: HasKeyArn | None = None
    root_volume_key: HasKeyArn | None = None


@dataclass(frozen=True, kw_only=True)
class ClusterProperties:
    """A cluster with Slurm.

    `lifecycle_mode` says who configures Slurm, as `lifecycle.mode` in an environment: HyperPod, and
    the scripts after it (extended), the scripts by themselves with a provisioning_parameters.json
    (customer), or HyperPod alone (managed). By default it follows from whether there are scripts.
    HyperPod mounts the file systems, but in customer mode, where this is up to the scripts.
    """

    name: str
    groups: Sequence[InstanceGroup]
    subnet: HasSubnetId
    security_groups: Sequence[HasSecurityGroupId]
    lifecycle: LifecycleScripts | None = None
    lifecycle_mode: LifecycleMode | None = None
    lustre: MountedLustre | None = None
    openzfs: MountedOpenZfs | None = None
    accounting_database: AccountingDatabase | None = None
    config_strategy: Literal["Overwrite", "Managed", "Merge"] | None = None
    node_recovery: NodeRecovery = "Automatic"
    provisioning: Literal["standard", "continuous"] = "standard"
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def mode(self) -> LifecycleMode:
        """Who configures Slurm, also where nobody has said it."""
        return self.lifecycle_mode or ("extended" if self.lifecycle else "managed")
