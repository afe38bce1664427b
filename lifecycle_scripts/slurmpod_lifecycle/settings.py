"""The settings of this cluster, rendered into the bundle: `settings.json` beside this package."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slurmpod_lifecycle.access_settings import Access
from slurmpod_lifecycle.failures import StepFailed
from slurmpod_lifecycle.metrics_settings import Metrics
from slurmpod_lifecycle.node_options import NodeOptions
from slurmpod_lifecycle.slurm_settings import SlurmSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    efa: bool = False

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
class MultiHead:
    """How many controllers share their state, and in which folder."""

    controllers: int
    shared_directory: str
    sns_topic_arn: str | None


@dataclass(frozen=True)
class Settings:
    """What all nodes of the cluster share; `roles` is by the name of the instance group.

    `database` is None for one on the controller, `multi_head` for a cluster with one controller,
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
    multi_head: MultiHead | None
    step_timeout_seconds: int
    slurm: SlurmSettings = field(default_factory=SlurmSettings)
    access: Access = field(default_factory=Access)
    metrics: Metrics | None = None
    node: NodeOptions = field(default_factory=lambda: NodeOptions({}, {}))


def load_settings(path: Path) -> Settings:
    """Read the settings; raises StepFailed for a file that is missing or not whole."""
    try:
        return _settings(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise StepFailed(f"cannot read {path}: {error.strerror}", FIX) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StepFailed(f"{path} is not what it should be: {error!r}", FIX) from None


def _settings(data: dict[str, Any]) -> Settings:
    database, multi_head = data["database"], data["multi_head"]
    return Settings(
        cluster_name=data["cluster_name"],
        region=data["region"],
        mode=Mode(data["mode"]),
        roles={group: Role(role) for group, role in data["roles"].items()},
        file_systems=tuple(
            FileSystem(**{**each, "kind": Kind(each["kind"])}) for each in data["file_systems"]
        ),
        s3_mounts=tuple(S3Mount(**each) for each in data["s3_mounts"]),
        accounting=data["accounting"],
        database=Database(**database) if database else None,
        multi_head=MultiHead(**multi_head) if multi_head else None,
        step_timeout_seconds=data["step_timeout_seconds"],
        slurm=SlurmSettings.of(data["slurm"]),
        access=Access.of(data["access"]),
        metrics=Metrics(**data["metrics"]) if data["metrics"] else None,
        node=NodeOptions.of(data["node"]),
    )
