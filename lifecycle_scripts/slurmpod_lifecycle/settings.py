"""The settings of a cluster's nodes: `settings.json` beside this package, in the bundle.

slurmpod creates the same objects from an environment and writes them as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from slurmpod_lifecycle.dataclass_json import from_json
from slurmpod_lifecycle.step import StepFailed

SETTINGS = Path(__file__).parents[1] / "settings.json"
FIX = "deploy the environment again, so that a complete bundle is uploaded"


class Role(Enum):
    """A node's role in Slurm."""

    CONTROLLER = "controller"
    LOGIN = "login"
    WORKER = "worker"


class Mode(Enum):
    """Who sets up Slurm: these scripts, or HyperPod before them."""

    CUSTOMER = "customer"
    EXTENDED = "extended"


class Kind(Enum):
    """The kinds of FSx file systems."""

    LUSTRE = "lustre"
    OPENZFS = "openzfs"


@dataclass(frozen=True)
class FileSystem:
    """An FSx file system and its mount path.

    With `mounted_by_hyperpod` HyperPod mounts it. `is_new` means that this environment created it.
    With `root_squash` root has no special rights on it, at least on some nodes. `efa` means that
    EFA nodes reach it over EFA.
    """

    kind: Kind
    dns_name: str
    mount_name: str
    mount_path: str
    mounted_by_hyperpod: bool
    is_new: bool
    root_squash: bool
    efa: bool

    @property
    def root_writes(self) -> bool:
        """Whether root can certainly write to it, on every node."""
        return self.is_new and not self.root_squash

    @property
    def source(self) -> str:
        """The device for `mount`: the server, and the file system's name there."""
        network = "@tcp" if self.kind is Kind.LUSTRE else ""
        return f"{self.dns_name}{network}:/{self.mount_name}"


@dataclass(frozen=True)
class S3Mount:
    """A bucket, or a prefix in it, and its mount path."""

    bucket: str
    prefix: str | None
    mount_path: str
    read_only: bool
    kms_key_arn: str | None


@dataclass(frozen=True)
class Database:
    """A database server outside the cluster for job records; the secret has user and password.

    With `requires_tls` it accepts encrypted connections only.
    """

    endpoint: str
    port: int
    name: str
    secret_arn: str
    default_user: str
    requires_tls: bool


@dataclass(frozen=True)
class RecordsBackup:
    """The backup of a controller's job records: its S3 location and its interval."""

    uri: str
    interval_minutes: int


@dataclass(frozen=True)
class Checks:
    """The checks of idle nodes, and their groups; `pair_groups` have sustained network bandwidth.

    `all_reduce_bounds` has the GB/s that EFA allows between the GPUs of two nodes, `ring_bounds`
    those in a ring.
    """

    every_hours: int
    kinds: tuple[str, ...]
    groups: tuple[str, ...]
    pair_groups: tuple[str, ...]
    all_reduce_bounds: Mapping[str, float]
    ring_bounds: Mapping[str, float]
    least_percent: int
    dcgm_level: int
    replace_after: int | None


@dataclass(frozen=True)
class MultiHead:
    """The number of controllers that share their state, and the folder for it."""

    controllers: int
    shared_directory: str
    sns_topic_arn: str | None


Value = str | Sequence[str] | Mapping[str, int]
"""A text, names in any order, or amounts by resource; empty for no limit."""


@dataclass(frozen=True)
class Account:
    """An account with its association's options, by their sacctmgr names."""

    name: str
    description: str
    options: Mapping[str, Value]


@dataclass(frozen=True)
class SlurmSettings:
    """Parameters of slurm.conf, options of partitions and QOS, and accounts, parents first."""

    configuration: Mapping[str, str]
    partitions: Mapping[str, Mapping[str, str]]
    qos: Mapping[str, Mapping[str, Value]]
    accounts: tuple[Account, ...]


@dataclass(frozen=True)
class Group:
    """A group with the same id on every node."""

    name: str
    gid: int


@dataclass(frozen=True)
class Association:
    """A user in one of Slurm's accounts, with options by their sacctmgr names."""

    account: str
    options: Mapping[str, str | Sequence[str]]


@dataclass(frozen=True)
class User:
    """A person with the same id on every node.

    `group` is the primary one, `groups` are the others; the first of `associations` is the default
    one.
    """

    name: str
    uid: int
    full_name: str
    group: str
    groups: tuple[str, ...]
    home: str
    ssh_keys: tuple[str, ...]
    admin: bool
    associations: tuple[Association, ...]


@dataclass(frozen=True)
class Directory:
    """A directory server; `installable` means that nodes reach an archive with SSSD."""

    uris: tuple[str, ...]
    base_dn: str
    kind: str
    bind_dn: str | None
    bind_secret_arn: str | None
    ca_certificate: str | None
    allowed_groups: tuple[str, ...]
    installable: bool


@dataclass(frozen=True)
class Access:
    """The users of the environment, and the directory with further ones.

    `groups` include the users' own ones; homes are on each node's own disk unless `homes_shared`.
    """

    groups: tuple[Group, ...]
    users: tuple[User, ...]
    home_directory: str
    homes_shared: bool
    directory: Directory | None


@dataclass(frozen=True)
class Metrics:
    """The target of a node's metrics; with `may_install` it may install missing packages."""

    remote_write_url: str
    scrape_seconds: int
    may_install: bool


@dataclass(frozen=True)
class Hardware:
    """The hardware of one instance type; `accelerator_kind` is `gpu`, `neuron`, or empty."""

    architecture: str
    accelerator_kind: str
    accelerators: int
    efa_interfaces: int
    nvme_gb: int


@dataclass(frozen=True)
class Artefact:
    """A package that nodes need and their image may lack.

    `mirror` is its location in the environment's bucket, if it was mirrored.
    """

    name: str
    architecture: str
    url: str
    sha256: str
    mirror: str


@dataclass(frozen=True)
class NodeOptions:
    """Options for nodes; `scratch_path` is None if disks stay as the image set them up.

    `hooks` has the roles with user scripts, each with the bundle paths of the scripts that run
    `before` and `after` the steps.
    """

    instance_types: Mapping[str, tuple[str, ...]]
    """The types of each instance group: several for flexible capacity."""

    hardware: Mapping[str, Hardware]
    """By instance type, without types that the catalog does not know."""

    scratch_path: str | None
    health_checks: bool
    containers: bool
    rotate_logs: bool
    motd: bool
    ssh_between_nodes: bool
    ssh_needs_job: bool
    has_way_out: bool
    """Whether nodes reach the internet, or at least mirrors of package archives."""

    artefacts: tuple[Artefact, ...]
    hooks: Mapping[str, Mapping[str, str]]

    @property
    def accelerator_kinds(self) -> frozenset[str]:
        """Resources that Slurm should count on some nodes: `gpu`, `neuron`."""
        return frozenset(each.accelerator_kind for each in self.hardware.values()) - {""}


@dataclass(frozen=True)
class Settings:
    """The settings common to all nodes of the cluster; `roles` is by name of the instance group.

    `database` is None for one on the controller, `records_backup` if it is not backed up, `checks`
    if idle nodes are not checked, `multi_head` for a cluster with one controller, `metrics` if
    there are none.
    """

    cluster_name: str
    region: str
    mode: Mode
    roles: Mapping[str, Role]
    file_systems: tuple[FileSystem, ...]
    s3_mounts: tuple[S3Mount, ...]
    accounting: bool
    database: Database | None
    records_backup: RecordsBackup | None
    checks: Checks | None
    multi_head: MultiHead | None
    metrics: Metrics | None
    slurm: SlurmSettings
    access: Access
    node: NodeOptions
    step_timeout_seconds: int


def load_settings(path: Path) -> Settings:
    """Read the settings; raises StepFailed for a missing or incomplete file."""
    try:
        return from_json(Settings, json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise StepFailed(f"cannot read {path}: {error.strerror}", FIX) from None
    except (ValueError, KeyError, TypeError) as error:
        raise StepFailed(f"{path} is not valid: {error!r}", FIX) from None
