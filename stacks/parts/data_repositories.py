"""Folders of a Lustre file system that FSx keeps in step with S3 buckets."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from aws_cdk import aws_fsx
from constructs import Construct

from slurmpod.environment.lustre import DataRepository

_Association = aws_fsx.CfnDataRepositoryAssociation


class DataRepositories(Construct):
    """One data repository association for each folder.

    An association is a link, no data: it goes with its stack, and what is in the folder and in the
    bucket stays. Its construct is named after the folder, because an id by position would move
    with its neighbours.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        repositories: Sequence[DataRepository],
        lustre: aws_fsx.CfnFileSystem,
    ) -> None:
        super().__init__(scope, id_)
        for repository in repositories:
            _Association(
                self,
                hashlib.sha256(repository.path.encode()).hexdigest()[:12],
                file_system_id=lustre.ref,
                file_system_path=repository.path,
                data_repository_path=repository.s3_uri,
                batch_import_meta_data_on_create=repository.import_metadata_on_create,
                s3=_events(repository),
            )


def _events(repository: DataRepository) -> _Association.S3Property:
    """Return what is carried over automatically; a policy without events must not be sent."""
    imported, exported = list(repository.import_events), list(repository.export_events)
    return _Association.S3Property(
        auto_import_policy=_Association.AutoImportPolicyProperty(events=imported)
        if imported
        else None,
        auto_export_policy=_Association.AutoExportPolicyProperty(events=exported)
        if exported
        else None,
    )
