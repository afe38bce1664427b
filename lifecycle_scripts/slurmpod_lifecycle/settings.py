"""The settings of a cluster's nodes: `settings.json` beside this package, in the bundle.

The tool makes these same objects of an environment and writes them as JSON.
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
    """What a node is for Slurm."""

    CONTROLLER = "controller"
    LOGIN = "login"
    WORKER = "worker"


class Mode(Enum):
    """Who sets Slurm up: these scripts, or HyperPod before them."""

    CUSTOMER = "customer"
    EXTENDED = "extended"


class Kind(Enum):
    """What an FSx file system is."""

    LUSTRE = "lustre"
    OPENZFS = "openzfs"


@dataclass(frozen=True)
class FileSystem:
    """An FSx file system and the folder where nodes mount it.

    `mounted_by_hyperpod` leaves the mounting to HyperPod; `is_new` says that this environment has
    made it; with `root_squash` root is nobody special on it, at least on some nodes; `efa` for one
    that EFA nodes reach over EFA.
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
        """Whether root can surely write to it, on every node."""
        return self.is_new and not self.root_squash

    @property
    def source(self) -> str:
        """What `mount` is given: the server, and the name that the file system has there."""
        network = "@tcp" if self.kind is Kind.LUSTRE else ""
        return f"{self.dns_name}{network}:/{self.mount_name}"


@dataclass(frozen=True)
class S3Mount:
    """A bucket, or the part of it under a prefix, and the folder that shows it."""

    bucket: str
    prefix: str | None
    mount_path: str
    read_only: bool
    kms_key_arn: str | None


@dataclass(frozen=True)
class Database:
    """A database server outside the cluster for job records; the secret has user and password.

    With `requires_tls` it takes encrypted connections only.
    """

    endpoint: str
    port: int
    name: str
    secret_arn: str
    default_user: str
    requires_tls: bool


@dataclass(frozen=True)
class RecordsBackup:
    """Where in S3 the job records of a database on the controller are kept, and how often."""

    uri: str
    interval_minutes: int


@dataclass(frozen=True)
class Checks:
    """What is checked of idle nodes, and of which groups; `pair_groups` have a steady network.

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
    """How many controllers share their state, and in which folder."""

    controllers: int
    shared_directory: str
    sns_topic_arn: str | None


Value = str | Sequence[str] | Mapping[str, int]
"""A text, names in any order, or amounts by resource; empty for no limit."""


@dataclass(frozen=True)
class Account:
    """An account with the options of its association, by their names in sacctmgr."""

    name: str
    description: str
    options: Mapping[str, Value]


@dataclass(frozen=True)
class SlurmSettings:
    """Parameters of slurm.conf, options of partitions and QOS by name, and accounts, top first."""

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
    """A user in one of Slurm's accounts; the options by their names in sacctmgr."""

    account: str
    options: Mapping[str, str | Sequence[str]]


@dataclass(frozen=True)
class User:
    """A person with the same id on every node.

    `group` is the primary one, `groups` are the others; `associations` begin with the default one.
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
    """A directory server; `installable` says whether nodes reach an archive with SSSD."""

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
    """The people of the environment, and the directory that knows others.

    `groups` include the users' own ones; homes are on each node's own disk unless `homes_shared`.
    """

    groups: tuple[Group, ...]
    users: tuple[User, ...]
    home_directory: str
    homes_shared: bool
    directory: Directory | None


@dataclass(frozen=True)
class Metrics:
    """Where a node sends its metrics; `may_install` if it may fetch packages that it lacks."""

    remote_write_url: str
    scrape_seconds: int
    may_install: bool


@dataclass(frozen=True)
class Hardware:
    """What one instance type brings; `accelerator_kind` is `gpu`, `neuron`, or empty."""

    architecture: str
    accelerator_kind: str
    accelerators: int
    efa_interfaces: int
    nvme_gb: int


@dataclass(frozen=True)
class Artefact:
    """A package that nodes need and their image may lack.

    `mirror` is where the environment's bucket has it once it was mirrored.
    """

    name: str
    architecture: str
    url: str
    sha256: str
    mirror: str


@dataclass(frozen=True)
class NodeOptions:
    """What is asked of nodes; `scratch_path` is None where disks stay as the image has them.

    `hooks` has the roles with scripts of the user's own, each with the paths in the bundle of what
    runs `before` and `after` the steps.
    """

    instance_types: Mapping[str, tuple[str, ...]]
    """The types of each instance group: several for flexible capacity."""

    hardware: Mapping[str, Hardware]
    """By instance type; a type that the catalog does not know is not there."""

    scratch_path: str | None
    health_checks: bool
    containers: bool
    rotate_logs: bool
    motd: bool
    ssh_between_nodes: bool
    ssh_needs_job: bool
    has_way_out: bool
    """Whether nodes reach the internet, or at least mirrors of what is there."""

    artefacts: tuple[Artefact, ...]
    hooks: Mapping[str, Mapping[str, str]]

    @property
    def accelerator_kinds(self) -> frozenset[str]:
        """What Slurm should count on some nodes: `gpu`, `neuron`."""
        return frozenset(each.accelerator_kind for each in self.hardware.values()) - {""}


@dataclass(frozen=True)
class Settings:
    """What all nodes of the cluster share; `roles` is by the name of the instance group.

    `database` is None for one on the controller, `records_backup` where nobody saves that,
    `checks` where idle nodes are left alone, `multi_head` for a cluster with one controller,
    `metrics` where none are asked for.
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
    """Read the settings; raises StepFailed for a file that is missing or not whole."""
    try:
        return from_json(Settings, json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise StepFailed(f"cannot read {path}: {error.strerror}", FIX) from None
    except (ValueError, KeyError, TypeError) as error:
        raise StepFailed(f"{path} is not what it should be: {error!r}", FIX) from None
