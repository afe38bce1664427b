"""Lustre file systems of the account: what was asked for and what the service adds.

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

from slurmpod.rehearsal.cloud.constraints import summary, violations
from slurmpod.rehearsal.cloud.errors import ServiceError
from slurmpod.rehearsal.cloud.fsx.interfaces import add_interfaces, delete_interfaces

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slurmpod.rehearsal.cloud.clients import Clients

_MOUNT_NAME_LENGTH = 8


@dataclass
class FileSystem:
    """One Lustre file system; `request` is what CreateFileSystem was asked for."""

    id: str
    arn: str
    dns_name: str
    mount_name: str
    vpc_id: str
    owner: str
    request: dict[str, Any]
    tags: dict[str, str]
    interface_ids: list[str] = field(default_factory=list)
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))


class FileSystems:
    """All file systems, by region and id. Every method locks for itself."""

    def __init__(self, clients: Callable[[str], Clients]) -> None:
        self._clients = clients
        self._lock = threading.RLock()
        self._by_region: dict[str, dict[str, FileSystem]] = {}

    def create(self, region: str, request: Mapping[str, Any]) -> FileSystem:
        """Create a file system; its subnets and security groups must exist."""
        problems = violations("fsx", "CreateFileSystem", request)
        if problems:
            raise ServiceError("BadRequest", summary(problems))
        if request["FileSystemType"] != "LUSTRE":
            raise ServiceError(
                "BadRequest",
                f"File system type {request['FileSystemType']} is not supported by the embedded "
                "AWS; it knows LUSTRE",
            )
        aws = self._clients(region)
        file_system = _new_file_system(aws, request, _vpc_of(aws, request))
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

    def find_by_arn(self, region: str, arn: str) -> FileSystem:
        """Return a file system by its ARN; raises ResourceNotFound."""
        for file_system in self.all(region):
            if file_system.arn == arn:
                return file_system
        raise ServiceError("ResourceNotFound", f"Resource '{arn}' does not exist.")

    def all(self, region: str) -> list[FileSystem]:
        """Return all file systems of a region, oldest first."""
        with self._lock:
            return list(self._of(region).values())

    def update(self, region: str, request: Mapping[str, Any]) -> FileSystem:
        """Change size and Lustre settings; a file system never shrinks."""
        file_system = self.find(region, request["FileSystemId"])
        old_size = file_system.request.get("StorageCapacity", 0)
        new_size = request.get("StorageCapacity", old_size)
        if new_size < old_size:
            raise ServiceError("BadRequest", f"Storage capacity cannot shrink from {old_size} GiB")
        with self._lock:
            settings = file_system.request.get("LustreConfiguration", {})
            file_system.request["StorageCapacity"] = new_size
            file_system.request["LustreConfiguration"] = {
                **settings,
                **request.get("LustreConfiguration", {}),
            }
        add_interfaces(
            self._clients(region),
            file_system.id,
            file_system.request,
            file_system.interface_ids,
        )
        return file_system

    def delete(self, region: str, file_system_id: str) -> None:
        """Delete a file system and everything on it."""
        file_system = self.find(region, file_system_id)
        delete_interfaces(self._clients(region), file_system.interface_ids)
        with self._lock:
            del self._of(region)[file_system_id]

    def _of(self, region: str) -> dict[str, FileSystem]:
        return self._by_region.setdefault(region, {})


def _vpc_of(aws: Clients, request: Mapping[str, Any]) -> str:
    subnets = aws.ec2.describe_subnets(SubnetIds=list(request["SubnetIds"]))["Subnets"]
    if request.get("SecurityGroupIds"):
        aws.ec2.describe_security_groups(GroupIds=list(request["SecurityGroupIds"]))
    return subnets[0]["VpcId"]


def _new_file_system(aws: Clients, request: Mapping[str, Any], vpc_id: str) -> FileSystem:
    file_system_id = f"fs-{secrets.token_hex(9)[:17]}"
    alphabet = string.ascii_lowercase + string.digits
    prefix = f"arn:{aws.partition}:fsx:{aws.region}:{aws.account}:file-system"
    return FileSystem(
        id=file_system_id,
        arn=f"{prefix}/{file_system_id}",
        dns_name=f"{file_system_id}.fsx.{aws.region}.{aws.dns_suffix}",
        mount_name="".join(secrets.choice(alphabet) for _ in range(_MOUNT_NAME_LENGTH)),
        vpc_id=vpc_id,
        owner=aws.account,
        request=dict(request),
        tags={tag["Key"]: tag["Value"] for tag in request.get("Tags", [])},
    )
