"""Data repository associations: which folders of file systems are linked to which buckets.

Nothing is imported or exported: the associations exist in the API only.
"""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from slurmpod.rehearsal.cloud.errors import ServiceError
from slurmpod.rehearsal.cloud.fsx.association_rules import association_refusals, bucket_of
from slurmpod.rehearsal.cloud.fsx.refusals import bad_request, check_model, raise_all

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slurmpod.rehearsal.cloud.clients import Clients
    from slurmpod.rehearsal.cloud.fsx.file_systems import FileSystems


@dataclass
class Association:
    """One association; `request` is what CreateDataRepositoryAssociation was asked for."""

    id: str
    arn: str
    file_system_id: str
    request: dict[str, Any]
    tags: dict[str, str]
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))


class Associations:
    """All associations, by region and id. Every method locks for itself."""

    def __init__(self, clients: Callable[[str], Clients], file_systems: FileSystems) -> None:
        self._clients = clients
        self._file_systems = file_systems
        self._lock = threading.RLock()
        self._by_region: dict[str, dict[str, Association]] = {}

    def create(self, region: str, request: Mapping[str, Any]) -> Association:
        """Link a folder to a bucket that exists."""
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
    association_id = f"dra-{secrets.token_hex(9)[:17]}"
    prefix = f"arn:{aws.partition}:fsx:{aws.region}:{aws.account}:association"
    return Association(
        id=association_id,
        arn=f"{prefix}/{file_system_id}/{association_id}",
        file_system_id=file_system_id,
        request=dict(request),
        tags={tag["Key"]: tag["Value"] for tag in request.get("Tags", [])},
    )
