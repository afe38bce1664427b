"""File systems of the account: the requests and what the service adds to them.

moto's FSx has no mount name, no lifecycle and no VPC, and cannot update. The network interfaces of
a file system, in its first subnet, matter for what they block: addresses of the subnet, and the
deletion of subnet and security groups while the file system exists. Sources: FSx for Lustre user
guide, "IP addresses for file systems" (one for each server); FSx for OpenZFS user guide, "Working
with file system resources" (one, or with high availability two and a floating address).
"""

from __future__ import annotations

import string
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from embedded_aws.clients import Clients
from embedded_aws.errors import ServiceError
from embedded_aws.fsx.lustre import Lustre, lustre_refusals
from embedded_aws.fsx.openzfs import openzfs_refusals
from embedded_aws.fsx.refusals import bad_request, check_model, raise_all
from embedded_aws.fsx.requirements import check_requirements
from embedded_aws.fsx.updates import CONFIGURATIONS, update_refusals, updated
from embedded_aws.ids import FILE_SYSTEM, MOUNT_NAME, ids

_MOUNT_NAME_LENGTH = 8
_MOUNT_NAME_OF_SCRATCH_1 = "fsx"


@dataclass
class FileSystem:
    """One file system; `request` is the CreateFileSystem request for its current state."""

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
    """All file systems, by Region and id. Every method does its own locking."""

    def __init__(self, clients: Callable[[str], Clients]) -> None:
        self._clients = clients
        self._lock = threading.RLock()
        self._by_region: dict[str, dict[str, FileSystem]] = {}

    def create(self, region: str, request: Mapping[str, Any]) -> FileSystem:
        """Create a file system; its subnet, security groups and key must exist."""
        check_request(request)
        aws = self._clients(region)
        file_system = _new_file_system(aws, request, check_requirements(aws, request))
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
        """Apply an UpdateFileSystem request."""
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
        """Delete a file system with all its data."""
        file_system = self.find(region, file_system_id)
        delete_interfaces(self._clients(region), file_system.interface_ids)
        with self._lock:
            del self._of(region)[file_system_id]

    def _of(self, region: str) -> dict[str, FileSystem]:
        return self._by_region.setdefault(region, {})


def check_request(request: Mapping[str, Any]) -> None:
    """Raise FSx's error for a CreateFileSystem request that is invalid by itself."""
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
        root_volume_id="" if is_lustre else ids.prefixed("fsvol"),
    )


def new_id() -> str:
    """Return the id of a file system."""
    return ids.prefixed(FILE_SYSTEM)


def new_mount_name(lustre: Lustre) -> str:
    """Return the mount name of a Lustre file system."""
    if lustre.deployment_type == "SCRATCH_1":
        return _MOUNT_NAME_OF_SCRATCH_1
    alphabet = string.ascii_lowercase + string.digits
    return ids.chosen(MOUNT_NAME) or ids.text(MOUNT_NAME, _MOUNT_NAME_LENGTH, alphabet)


@dataclass(frozen=True)
class Addressing:
    """The number of a file system's interfaces, and whether one of them has a second address."""

    interfaces: int
    has_floating_address: bool = False


def addressing(request: Mapping[str, Any]) -> Addressing:
    """Return the addressing of a requested file system."""
    if request["FileSystemType"] == "LUSTRE":
        return Addressing(Lustre.of(request).servers)
    is_highly_available = "_HA_" in request["OpenZFSConfiguration"]["DeploymentType"]
    return Addressing(1 + is_highly_available, has_floating_address=is_highly_available)


def add_interfaces(
    aws: Clients, file_system_id: str, request: Mapping[str, Any], interface_ids: list[str]
) -> None:
    """Create the missing interfaces and append their ids to `interface_ids`.

    Raises botocore's ClientError when the subnet has no free address.
    """
    wanted = addressing(request)
    options: dict[str, Any] = {}
    if request.get("SecurityGroupIds"):
        options["Groups"] = list(request["SecurityGroupIds"])
    while len(interface_ids) < wanted.interfaces:
        is_first = not interface_ids
        interface = aws.ec2.create_network_interface(
            SubnetId=request["SubnetIds"][0],
            Description=f"Created by Amazon FSx for {file_system_id}",
            SecondaryPrivateIpAddressCount=int(wanted.has_floating_address and is_first),
            **options,
        )["NetworkInterface"]
        interface_ids.append(interface["NetworkInterfaceId"])


def delete_interfaces(aws: Clients, interface_ids: list[str]) -> None:
    """Delete the interfaces and clear `interface_ids`."""
    while interface_ids:
        aws.ec2.delete_network_interface(NetworkInterfaceId=interface_ids.pop())
