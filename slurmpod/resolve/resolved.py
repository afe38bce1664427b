"""The classes of a resolved environment. Sections are referred to, not repeated."""

from __future__ import annotations

from collections.abc import Mapping

from slurmpod.environment.access import Directory, PosixGroup, Sessions, User
from slurmpod.environment.catalog import InstanceType
from slurmpod.environment.cluster import Group, NodeRecovery, Role
from slurmpod.environment.environment import Environment
from slurmpod.environment.identity import Identity
from slurmpod.environment.lifecycle import LifecycleMode
from slurmpod.environment.lustre import Lustre
from slurmpod.environment.monitoring import Budget, Monitoring
from slurmpod.environment.names import InAccount
from slurmpod.environment.service_types import Memory
from slurmpod.environment.services import Endpoint, Notebook
from slurmpod.environment.slurm import Rds, Slurm
from slurmpod.environment.storage import OpenZfs, S3Mount
from slurmpod.problems import Where, YamlPath
from slurmpod.reading.own_scripts import OwnScripts
from slurmpod.reading.policy_files import PolicyDocument
from slurmpod.resolve.resolved_network import ResolvedNetwork
from slurmpod.resolve.stacks import StackNames
from slurmpod.value import Value

ALL_NODES_PARTITION = "dev"
"""HyperPod puts every node in this partition, in addition to its group's."""


class LustreFacts(Value):
    """Settings of an FSx for Lustre file system, with the defaults filled in.

    `capacity_gib`, `throughput_mbps_per_tib` and `throughput_mbps` are None if they do not apply;
    `metadata_iops` is None if FSx chooses.
    """

    settings: Lustre
    capacity_gib: int | None
    throughput_mbps_per_tib: int | None
    throughput_mbps: int | None
    has_metadata_configuration: bool
    metadata_iops: int | None


class ResolvedLustre(LustreFacts):
    """One FSx for Lustre file system of an environment, new or existing.

    `name` is `lustre` for the main one, `path` its position in the file. `dns_name` is None until a
    new one is deployed.
    """

    name: str
    path: YamlPath
    zone: str
    addresses: int
    dns_name: str | None


class ResolvedOpenZfs(Value):
    """The FSx for OpenZFS file system, new or existing; `path` and `dns_name` as for Lustre."""

    path: YamlPath
    settings: OpenZfs
    zone: str
    throughput_mbps: int
    addresses: int
    dns_name: str | None


class NewDatabase(Value):
    """The RDS server that an environment creates for its job records."""

    settings: Rds
    identifier: str
    max_storage_gib: int


class ResolvedDatabase(Value):
    """The external database for job records: the user's server, or a `new` one.

    `path` is the position of its section in the file. `endpoint` and `secret_arn` are None until a
    new one is deployed, `name` if none was chosen. `user` connects unless the secret names another.
    `requires_tls`: the server accepts only encrypted connections.
    """

    path: YamlPath
    endpoint: str | None
    port: int
    name: str | None
    secret_arn: str | None
    user: str
    requires_tls: bool
    new: NewDatabase | None


class EcrImage(Value):
    """A container image in ECR: the registry's account and Region, and the repository."""

    account: str
    region: str
    repository: str
    version: str
    """Its tag, or its digest with `sha256:`."""


class ResolvedEndpoint(Value):
    """The endpoint that serves a model; `path` is its position in the file.

    The model is the object `model_key`, or everything below it if it ends with a slash. `memory` is
    that of one instance, None if unknown.
    """

    path: YamlPath
    settings: Endpoint
    name: str
    image: EcrImage
    model_bucket: str
    model_key: str
    weights_bytes: int
    memory: Memory | None
    log_group: str

    @property
    def most_instances(self) -> int:
        """The maximum number of instances."""
        scaling = self.settings.scaling
        return scaling.max_instances if scaling else self.settings.instances

    @property
    def is_folder(self) -> bool:
        """Whether the model is a folder of files, and not an archive."""
        return self.model_key.endswith("/")


class ResolvedNotebook(Value):
    """The notebook instance; `path` is its position in the file, `zone` the file systems'."""

    path: YamlPath
    settings: Notebook
    name: str
    zone: str


class ResolvedLifecycle(Value):
    """The setup of nodes, and the location of the scripts.

    The content hash is appended to `prefix` when rendered. `entry_script` is None in managed mode.
    `hooks` are the user's scripts around the steps, by their paths in the bundle.
    """

    mode: LifecycleMode
    bucket: str
    prefix: str
    entry_script: str | None
    own_scripts: OwnScripts | None
    hooks: Mapping[str, str]
    step_timeout_seconds: int
    bucket_on_delete: str


class KnownGroup(Value):
    """A group of users, and its position in the file."""

    group: PosixGroup
    path: YamlPath


class KnownUser(Value):
    """A user, its position in the environment, and the line if it is in the file of users."""

    user: User
    path: YamlPath
    line: Where | None


class ResolvedAccess(Value):
    """The users of the cluster, and their access.

    `home_directory` is None if nodes share no file system; `session_groups` are the instance groups
    on which users who are not administrators may open sessions.
    """

    groups: tuple[KnownGroup, ...]
    users: tuple[KnownUser, ...]
    home_directory: str | None
    directory: Directory | None
    sessions: Sessions | None
    session_groups: tuple[str, ...]


class ResolvedGroup(Value):
    """An instance group and its Slurm settings.

    `path` is its position in the file. `instance_types` has several entries with flexible capacity
    only, `instance_type` is the first. `facts_of_types` has the facts of each, and None for a type
    missing from the catalog. `addresses_per_node` is the maximum over the types.
    """

    name: str
    path: YamlPath
    role: Role
    settings: Group
    instance_types: tuple[str, ...]
    facts_of_types: tuple[InstanceType | None, ...]
    count: int
    partition: str | None
    threads_per_core: int
    zone: str
    addresses_per_node: int

    @property
    def instance_type(self) -> str:
        """The type of the nodes, or the preferred one."""
        return self.instance_types[0] if self.instance_types else ""

    @property
    def facts(self) -> InstanceType | None:
        """The facts of the type of the nodes, or of the preferred one."""
        return self.facts_of_types[0] if self.facts_of_types else None


class Resolved(Value, InAccount):
    """A resolved environment, for stacks, scripts and the rehearsal.

    `environment` is its source; `policies` are the documents of the policy files that it names, by
    path.
    """

    environment: Environment
    name: str
    account: str
    region: str
    aws_partition: str
    protected: bool
    tags: Mapping[str, str]
    stacks: StackNames
    network: ResolvedNetwork
    lustre: tuple[ResolvedLustre, ...]
    openzfs: ResolvedOpenZfs | None
    s3_mounts: tuple[S3Mount, ...]
    database: ResolvedDatabase | None
    lifecycle: ResolvedLifecycle
    node_recovery: NodeRecovery
    continuous: bool
    groups: tuple[ResolvedGroup, ...]
    slurm: Slurm
    access: ResolvedAccess
    identity: Identity
    policies: Mapping[str, PolicyDocument]
    monitoring: Monitoring | None
    budget: Budget | None
    endpoint: ResolvedEndpoint | None
    notebook: ResolvedNotebook | None

    def groups_with(self, role: Role) -> tuple[ResolvedGroup, ...]:
        """Return the instance groups of one role, in the order of the file."""
        return tuple(group for group in self.groups if group.role is role)
