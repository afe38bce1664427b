"""File systems of the account: what was asked for and what the service adds.

moto's FSx has no mount name, no lifecycle and no VPC, and cannot update.
"""

from __future__ import annotations

import secrets
import string
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from slurmpod.rehearsal.cloud.errors import ServiceError
from slurmpod.rehearsal.cloud.fsx.interfaces import add_interfaces, delete_interfaces
from slurmpod.rehearsal.cloud.fsx.lustre import Lustre
from slurmpod.rehearsal.cloud.fsx.lustre_rules import lustre_refusals
from slurmpod.rehearsal.cloud.fsx.openzfs_rules import openzfs_refusals
from slurmpod.rehearsal.cloud.fsx.refusals import bad_request, check_model, raise_all
from slurmpod.rehearsal.cloud.fsx.surroundings import check_surroundings
from slurmpod.rehearsal.cloud.fsx.updates import CONFIGURATIONS, update_refusals, updated

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slurmpod.rehearsal.cloud.clients import Clients

_MOUNT_NAME_LENGTH = 8
_MOUNT_NAME_OF_SCRATCH_1 = "fsx"


@dataclass
class FileSystem:
    """One file system; `request` is the CreateFileSystem that makes what it is now."""

    id: str
    arn: str
    dns_name: str
    vpc_id: str
    owner: str
    request: dict[str, Any]
    tags: dict[str, str]
    mount_name: str = ""
    """Lustre only."""
    root_volume_id: str = ""
    """OpenZFS only."""
    interface_ids: list[str] = field(default_factory=list)
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))


class FileSystems:
    """All file systems, by region and id. Every method locks for itself."""

    def __init__(self, clients: Callable[[str], Clients]) -> None:
        self._clients = clients
        self._lock = threading.RLock()
        self._by_region: dict[str, dict[str, FileSystem]] = {}

    def create(self, region: str, request: Mapping[str, Any]) -> FileSystem:
        """Create a file system; its subnet, security groups and key must exist."""
        check_request(request)
        aws = self._clients(region)
        file_system = _new_file_system(aws, request, check_surroundings(aws, request))
        try:
            add_interfaces(aws, file_system.id, request, file_system.interface_ids)
        except ClientError:
            delete_interfaces(aws, file_system.interface_ids)
            raise
        with self._lock:
            self._of(region)[file_system.id] = file_system
        return file_system

    def find(self, region: str, file_system_id: str) -> FileSystem:
        """Return a file system; raises FileSystemNotFound."""
        with self._lock:
            if file_system_id not in self._of(region):
                raise ServiceError(
                    "FileSystemNotFound", f"File system '{file_system_id}' does not exist."
                )
            return self._of(region)[file_system_id]

    def all(self, region: str) -> list[FileSystem]:
        """Return all file systems of a region, oldest first."""
        with self._lock:
            return list(self._of(region).values())

    def update(self, region: str, request: Mapping[str, Any]) -> FileSystem:
        """Change what UpdateFileSystem can change."""
        check_model("UpdateFileSystem", request)
        file_system = self.find(region, request["FileSystemId"])
        with self._lock:
            raise_all(update_refusals(file_system.request, request))
            wanted = updated(file_system.request, request)
            aws = self._clients(region)
            add_interfaces(aws, file_system.id, wanted, file_system.interface_ids)
            file_system.request = wanted
        return file_system

    def delete(self, region: str, file_system_id: str) -> None:
        """Delete a file system and everything on it."""
        file_system = self.find(region, file_system_id)
        delete_interfaces(self._clients(region), file_system.interface_ids)
        with self._lock:
            del self._of(region)[file_system_id]

    def _of(self, region: str) -> dict[str, FileSystem]:
        return self._by_region.setdefault(region, {})


def check_request(request: Mapping[str, Any]) -> None:
    """Raise what FSx answers to a CreateFileSystem request that makes no sense in itself."""
    check_model("CreateFileSystem", request)
    kind = request["FileSystemType"]
    if kind not in CONFIGURATIONS:
        raise bad_request(
            f"File system type {kind} is not supported by the embedded AWS; it knows "
            f"{' and '.join(CONFIGURATIONS)}"
        )
    raise_all(lustre_refusals(request) if kind == "LUSTRE" else openzfs_refusals(request))


def _new_file_system(aws: Clients, request: Mapping[str, Any], vpc_id: str) -> FileSystem:
    file_system_id = new_id()
    prefix = f"arn:{aws.partition}:fsx:{aws.region}:{aws.account}:file-system"
    is_lustre = request["FileSystemType"] == "LUSTRE"
    return FileSystem(
        id=file_system_id,
        arn=f"{prefix}/{file_system_id}",
        dns_name=f"{file_system_id}.fsx.{aws.region}.{aws.dns_suffix}",
        vpc_id=vpc_id,
        owner=aws.account,
        request=dict(request),
        tags={tag["Key"]: tag["Value"] for tag in request.get("Tags", [])},
        mount_name=new_mount_name(Lustre.of(request)) if is_lustre else "",
        root_volume_id="" if is_lustre else f"fsvol-{secrets.token_hex(9)[:17]}",
    )


def new_id() -> str:
    """Return the id of a file system."""
    return f"fs-{secrets.token_hex(9)[:17]}"


def new_mount_name(lustre: Lustre) -> str:
    """Return the mount name of a Lustre file system."""
    if lustre.deployment_type == "SCRATCH_1":
        return _MOUNT_NAME_OF_SCRATCH_1
    alphabet = string.ascii_lowercase + string.digits
    return "".join(secrets.choice(alphabet) for _ in range(_MOUNT_NAME_LENGTH))
