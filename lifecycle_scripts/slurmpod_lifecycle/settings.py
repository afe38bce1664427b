"""The settings of this cluster, rendered into the bundle: `settings.json` beside this package."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from slurmpod_lifecycle.failures import StepFailed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FIX = "deploy the environment again, so that a complete bundle is uploaded"


class Role(Enum):
    """What a node is for Slurm."""

    CONTROLLER = "controller"
    LOGIN = "login"
    WORKER = "worker"


@dataclass(frozen=True)
class FileSystem:
    """An FSx for Lustre file system and the folder where nodes mount it."""

    dns_name: str
    mount_name: str
    mount_path: str

    @property
    def source(self) -> str:
        """What `mount` is given: the management server and the name of the file system."""
        return f"{self.dns_name}@tcp:/{self.mount_name}"


@dataclass(frozen=True)
class Settings:
    """What all nodes of the cluster share; `roles` is by the name of the instance group."""

    cluster_name: str
    region: str
    roles: Mapping[str, Role]
    file_system: FileSystem
    accounting: bool
    step_timeout_seconds: int


def load_settings(path: Path) -> Settings:
    """Read the settings; raises StepFailed for a file that is missing or not whole."""
    try:
        return _settings(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise StepFailed(f"cannot read {path}: {error.strerror}", FIX) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StepFailed(f"{path} is not what it should be: {error!r}", FIX) from None


def _settings(data: dict[str, Any]) -> Settings:
    return Settings(
        cluster_name=data["cluster_name"],
        region=data["region"],
        roles={group: Role(role) for group, role in data["roles"].items()},
        file_system=FileSystem(**data["file_system"]),
        accounting=data["accounting"],
        step_timeout_seconds=data["step_timeout_seconds"],
    )
