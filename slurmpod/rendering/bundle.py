"""The bundle: what HyperPod copies to every new node and runs there.

The scripts are the same for all environments; two rendered files say what this one is. The folder
in S3 is named by a hash of the content, so a changed bundle is a new folder, and one that is in
use never changes.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from slurmpod.model.cluster import Role
from slurmpod.rendering.templates import render

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.resolve import Resolved

SCRIPTS = Path(__file__).parents[2] / "lifecycle_scripts"
DIGEST_LENGTH = 12


class Placeholder(StrEnum):
    """What only a deployment knows, and puts into the rendered files."""

    FILE_SYSTEM_DNS_NAME = "@FILE_SYSTEM_DNS_NAME@"
    FILE_SYSTEM_MOUNT_NAME = "@FILE_SYSTEM_MOUNT_NAME@"


@dataclass(frozen=True)
class Bundle:
    """The files by their path, sorted, with placeholders in them, and where they go.

    `digest` is over paths and contents; `prefix` is the folder in the lifecycle bucket;
    `deploy_time_files` are the paths of the files with placeholders.
    """

    files: Mapping[str, bytes]
    digest: str
    prefix: str
    deploy_time_files: tuple[str, ...]


def render_bundle(resolved: Resolved) -> Bundle:
    """Render the bundle of an environment that the rules have passed."""
    unsorted = {**_scripts(), **_rendered(resolved)}
    files = MappingProxyType(dict(sorted(unsorted.items())))
    digest = _digest(files)
    return Bundle(
        files=files,
        digest=digest,
        prefix=f"{resolved.lifecycle.prefix}/{digest}",
        deploy_time_files=tuple(
            path
            for path, content in files.items()
            if any(placeholder.encode() in content for placeholder in Placeholder)
        ),
    )


def _scripts() -> dict[str, bytes]:
    return {
        path.relative_to(SCRIPTS).as_posix(): path.read_bytes()
        for path in SCRIPTS.rglob("*")
        if path.is_file() and path.suffix in {".sh", ".py"}
    }


def _rendered(resolved: Resolved) -> dict[str, bytes]:
    values = _values(resolved)
    paths = ("provisioning_parameters.json", "settings.json")
    return {path: render(path, values).encode() for path in paths}


def _values(resolved: Resolved) -> dict[str, object]:
    """Return what the templates refer to, as plain data."""
    (controller,) = resolved.groups_with(Role.CONTROLLER)
    login = resolved.groups_with(Role.LOGIN)
    return {
        "accounting": resolved.accounting,
        "cluster_name": resolved.name,
        "controller_group": controller.name,
        "file_system": {
            "dns_name": Placeholder.FILE_SYSTEM_DNS_NAME,
            "mount_name": Placeholder.FILE_SYSTEM_MOUNT_NAME,
            "mount_path": resolved.file_system.mount_path,
        },
        "login_group": login[0].name if login else None,
        "region": resolved.region,
        "roles": {group.name: group.role for group in resolved.groups},
        "step_timeout_seconds": resolved.lifecycle.step_timeout_seconds,
        "worker_groups": [
            {"instance_group_name": group.name, "partition_name": group.partition}
            for group in resolved.groups_with(Role.WORKER)
        ],
    }


def _digest(files: Mapping[str, bytes]) -> str:
    """Hash paths and contents, each with its length, so that no two bundles look the same."""
    content = hashlib.sha256()
    for path, data in files.items():
        content.update(f"{len(path)} {path} {len(data)} ".encode())
        content.update(data)
    return content.hexdigest()[:DIGEST_LENGTH]
