"""Data repository associations: links between folders of file systems and buckets.

Nothing is imported or exported: the associations exist in the API only. Source of the rules: API
reference of CreateDataRepositoryAssociation and DataRepositoryAssociation. The messages about
unsupported file systems and about backups are FSx's, from public reports; the rest are ours.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from embedded_aws.clients import Clients
from embedded_aws.errors import ServiceError
from embedded_aws.fsx.file_systems import FileSystems
from embedded_aws.fsx.lustre import Lustre
from embedded_aws.fsx.refusals import bad_request, check_model, raise_all
from embedded_aws.ids import ids


@dataclass
class Association:
    """One association; `request` is the input of CreateDataRepositoryAssociation."""

    id: str
    arn: str
    file_system_id: str
    request: dict[str, Any]
    tags: dict[str, str]
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))


class Associations:
    """All associations, by Region and id. Every method does its own locking."""

    def __init__(self, clients: Callable[[str], Clients], file_systems: FileSystems) -> None:
        self._clients = clients
        self._file_systems = file_systems
        self._lock = threading.RLock()
        self._by_region: dict[str, dict[str, Association]] = {}

    def create(self, region: str, request: Mapping[str, Any]) -> Association:
        """Link a folder to an existing bucket."""
        check_model("CreateDataRepositoryAssociation", request)
        file_system = self._file_systems.find(region, request["FileSystemId"])
        aws = self._clients(region)
        _require_bucket(aws, request["DataRepositoryPath"])
        with self._lock:
            existing = [item.request for item in self.of_file_system(region, file_system.id)]
            raise_all(association_refusals(file_system.request, existing, request))
            association = _new_association(aws, file_system.id, request)
            self._of(region)[association.id] = association
        return association

    def find(self, region: str, association_id: str) -> Association:
        """Return an association; raises DataRepositoryAssociationNotFound."""
        with self._lock:
            if association_id not in self._of(region):
                raise ServiceError(
                    "DataRepositoryAssociationNotFound",
                    f"Data repository association '{association_id}' does not exist.",
                )
            return self._of(region)[association_id]

    def all(self, region: str) -> list[Association]:
        """Return all associations of a region, oldest first."""
        with self._lock:
            return list(self._of(region).values())

    def of_file_system(self, region: str, file_system_id: str) -> list[Association]:
        """Return the associations of one file system."""
        return [item for item in self.all(region) if item.file_system_id == file_system_id]

    def update(self, region: str, request: Mapping[str, Any]) -> Association:
        """Change which events are imported and exported, and the chunk size."""
        check_model("UpdateDataRepositoryAssociation", request)
        association = self.find(region, request["AssociationId"])
        with self._lock:
            for name in ("S3", "ImportedFileChunkSize"):
                if name in request:
                    association.request[name] = request[name]
        return association

    def delete(self, region: str, association_id: str) -> None:
        """Unlink the folder."""
        association = self.find(region, association_id)
        with self._lock:
            del self._of(region)[association.id]

    def _of(self, region: str) -> dict[str, Association]:
        return self._by_region.setdefault(region, {})


def _require_bucket(aws: Clients, data_repository_path: str) -> None:
    bucket = bucket_of(data_repository_path)
    try:
        aws.s3.head_bucket(Bucket=bucket)
    except ClientError as error:
        raise bad_request(
            f"The S3 bucket {bucket} of {data_repository_path} does not exist or is not yours"
        ) from error


def _new_association(aws: Clients, file_system_id: str, request: Mapping[str, Any]) -> Association:
    association_id = ids.prefixed("dra")
    prefix = f"arn:{aws.partition}:fsx:{aws.region}:{aws.account}:association"
    return Association(
        id=association_id,
        arn=f"{prefix}/{file_system_id}/{association_id}",
        file_system_id=file_system_id,
        request=dict(request),
        tags={tag["Key"]: tag["Value"] for tag in request.get("Tags", [])},
    )


MOST_PER_FILE_SYSTEM = 8


def association_refusals(
    file_system: Mapping[str, Any],
    existing: Sequence[Mapping[str, Any]],
    request: Mapping[str, Any],
) -> Iterator[ServiceError]:
    """Yield every reason to refuse this association of a file system.

    `file_system` and `existing` are the requests that created them.
    """
    if not _can_be_linked(file_system):
        yield ServiceError(
            "UnsupportedOperation",
            "This file system does not support data repository associations.",
        )
        return
    if len(existing) >= MOST_PER_FILE_SYSTEM:
        yield ServiceError(
            "ServiceLimitExceeded",
            f"A file system can have {MOST_PER_FILE_SYSTEM} data repository associations",
        )
    yield from backup_refusals(file_system)
    path = request.get("FileSystemPath", "")
    if not path.startswith("/"):
        yield bad_request(f"FileSystemPath must begin with a slash, not {path!r}")
    for other in existing:
        if _overlap(path, other["FileSystemPath"]):
            yield bad_request(
                f"FileSystemPath {path} overlaps with that of another association: "
                f"{other['FileSystemPath']}"
            )
        if _overlap(request["DataRepositoryPath"], other["DataRepositoryPath"]):
            yield bad_request(
                f"{request['DataRepositoryPath']} overlaps with {other['DataRepositoryPath']}, "
                "which is linked to the file system already"
            )


def backup_refusals(file_system: Mapping[str, Any]) -> Iterator[ServiceError]:
    """Yield why a file system with this configuration cannot be linked: automatic backups."""
    if file_system.get("LustreConfiguration", {}).get("AutomaticBackupRetentionDays"):
        yield bad_request(
            "Backups cannot be created on S3-linked file systems: "
            "AutomaticBackupRetentionDays must be 0"
        )


def bucket_of(data_repository_path: str) -> str:
    """Return the bucket of `s3://bucket/prefix/`; raises BadRequest for anything else."""
    scheme, _, rest = data_repository_path.partition("://")
    bucket = rest.partition("/")[0]
    if scheme != "s3" or not bucket:
        raise bad_request(
            f"DataRepositoryPath must be of the form s3://bucket/prefix/, not "
            f"{data_repository_path}"
        )
    return bucket


def _can_be_linked(file_system: Mapping[str, Any]) -> bool:
    if file_system["FileSystemType"] != "LUSTRE":
        return False
    lustre = Lustre.of(file_system)
    is_new_enough = lustre.version != "2.10" and lustre.deployment_type != "SCRATCH_1"
    return is_new_enough and not lustre.is_tiering


def _overlap(one: str, other: str) -> bool:
    return _folder(one).startswith(_folder(other)) or _folder(other).startswith(_folder(one))


def _folder(path: str) -> str:
    return path.rstrip("/") + "/"
