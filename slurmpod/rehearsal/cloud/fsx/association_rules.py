"""What FSx refuses about data repository associations. Pure.

Source: API reference of CreateDataRepositoryAssociation and DataRepositoryAssociation. The words
about unsupported file systems and about backups are FSx's, from public reports; the rest is ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.errors import ServiceError
from slurmpod.rehearsal.cloud.fsx.lustre import Lustre
from slurmpod.rehearsal.cloud.fsx.refusals import bad_request

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MOST_PER_FILE_SYSTEM = 8


def association_refusals(
    file_system: Mapping[str, Any],
    existing: Sequence[Mapping[str, Any]],
    request: Mapping[str, Any],
) -> Iterator[ServiceError]:
    """Yield every reason for which a file system does not get this association.

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
    """Yield why a file system with this configuration cannot be linked to a bucket: backups."""
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
