"""A shared file system: FSx for Lustre, retained by default."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from aws_cdk import Tags, aws_fsx, aws_iam, custom_resources
from constructs import Construct

from slurmpod.environment.file_systems import StorageType
from slurmpod.environment.lustre import DataRepository, Lustre, RootSquash
from slurmpod.request.interfaces import HasKeyArn, HasSecurityGroupId, HasSubnetId
from slurmpod.resolve.resolved import LustreFacts
from slurmpod.resolve.storage import lustre_facts
from slurmpod.rules.plain_settings import mistakes_of_lustre
from slurmpod_cdk.given_properties import make_after, refuse
from slurmpod_cdk.retention import apply_on_delete

_Association = aws_fsx.CfnDataRepositoryAssociation


class DataRepositories(Construct):
    """One data repository association for each folder.

    An association is only a link: it is deleted with its stack, but the contents of folder and
    bucket stay. Its construct is named after the folder, because an id by position would change
    with its neighbors.
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
    """Return the events to import and export automatically; empty policies must be omitted."""
    imported, exported = list(repository.import_events), list(repository.export_events)
    return _Association.S3Property(
        auto_import_policy=_Association.AutoImportPolicyProperty(events=imported)
        if imported
        else None,
        auto_export_policy=_Association.AutoExportPolicyProperty(events=exported)
        if exported
        else None,
    )


class LustreRootSquash(Construct):
    """Sets the root squash of a file system after its creation.

    FSx accepts it at creation and later, but AWS::FSx::FileSystem has no property for it; hence one
    call of UpdateFileSystem by the CDK's function. Nothing is undone when the construct is removed:
    deleting a stack must not open files to root.
    """

    def __init__(
        self, scope: Construct, id_: str, *, squash: RootSquash, lustre: aws_fsx.CfnFileSystem
    ) -> None:
        super().__init__(scope, id_)
        custom_resources.AwsCustomResource(
            self,
            "Setting",
            resource_type="Custom::LustreRootSquash",
            install_latest_aws_sdk=False,
            on_update=custom_resources.AwsSdkCall(
                service="fsx",
                action="UpdateFileSystem",
                parameters={
                    "FileSystemId": lustre.ref,
                    "LustreConfiguration": {
                        "RootSquashConfiguration": {
                            "RootSquash": squash.user,
                            "NoSquashNids": list(squash.except_nids),
                        }
                    },
                },
                output_paths=["FileSystem.FileSystemId"],
                physical_resource_id=custom_resources.PhysicalResourceId.of(lustre.ref),
            ),
            policy=custom_resources.AwsCustomResourcePolicy.from_statements(
                [
                    aws_iam.PolicyStatement(
                        actions=["fsx:UpdateFileSystem"], resources=[lustre.attr_resource_arn]
                    )
                ]
            ),
        )


class LustreFileSystem(Construct):
    """A file system in one subnet, with folders linked to S3 buckets.

    L1, because the L2 construct has no metadata configuration, and FSx does not allow adding one
    later. Unless `settings` request deletion, removing or replacing the resource keeps the data;
    only a failed first creation is rolled back.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        subnet: HasSubnetId,
        security_groups: Sequence[HasSecurityGroupId],
        settings: Lustre | None = None,
        kms_key: HasKeyArn | None = None,
        name: str | None = None,
    ) -> None:
        """Make a file system with `settings`, those of `storage.lustre` in an environment.

        `kms_key` overrides the key in the settings; `name` is shown in the console.

        Raises:
            WrongProperties: FSx refuses such a file system, or `settings` name an existing one.
        """
        super().__init__(scope, id_)
        settings = settings or Lustre()
        refuse(self, mistakes_of_lustre(settings, has_key=kms_key is not None))
        facts = lustre_facts(settings)
        lustre = aws_fsx.CfnFileSystem(
            self,
            "FileSystem",
            file_system_type="LUSTRE",
            file_system_type_version=settings.version,
            storage_type=settings.storage_type.value,
            storage_capacity=facts.capacity_gib,
            kms_key_id=kms_key.key_arn if kms_key else settings.kms_key_arn,
            subnet_ids=[subnet.subnet_id],
            security_group_ids=[group.security_group_id for group in security_groups],
            lustre_configuration=_configuration(settings, facts),
        )
        apply_on_delete(lustre, settings.on_delete)
        make_after(lustre, *security_groups)
        Tags.of(lustre).add("Name", name or self.node.path)
        repositories = DataRepositories(
            self, "Repositories", repositories=settings.data_repositories, lustre=lustre
        )
        if settings.root_squash:
            squash = LustreRootSquash(
                self, "RootSquash", squash=settings.root_squash, lustre=lustre
            )
            squash.node.add_dependency(repositories)
        self.file_system_id = lustre.ref
        self.dns_name = lustre.attr_dns_name
        self.mount_name = lustre.attr_lustre_mount_name
        self.mount_path = settings.mount_path


def _configuration(
    settings: Lustre, facts: LustreFacts
) -> aws_fsx.CfnFileSystem.LustreConfigurationProperty:
    """Return the Lustre configuration; changing `copy_tags_to_backups` replaces the file system."""
    backups = settings.backups
    return aws_fsx.CfnFileSystem.LustreConfigurationProperty(
        deployment_type=settings.deployment_type,
        per_unit_storage_throughput=facts.throughput_mbps_per_tib,
        throughput_capacity=facts.throughput_mbps,
        data_read_cache_configuration=_read_cache(settings),
        drive_cache_type=_drive_cache(settings),
        data_compression_type=settings.compression,
        metadata_configuration=_metadata(facts),
        efa_enabled=settings.efa or None,
        automatic_backup_retention_days=backups.retention_days if backups else None,
        daily_automatic_backup_start_time=backups.start_time if backups else None,
        copy_tags_to_backups=True if backups and backups.copy_tags else None,
        weekly_maintenance_start_time=settings.maintenance_window,
    )


def _metadata(
    facts: LustreFacts,
) -> aws_fsx.CfnFileSystem.MetadataConfigurationProperty | None:
    if not facts.has_metadata_configuration:
        return None
    if facts.metadata_iops is None:
        return aws_fsx.CfnFileSystem.MetadataConfigurationProperty(mode="AUTOMATIC")
    return aws_fsx.CfnFileSystem.MetadataConfigurationProperty(
        mode="USER_PROVISIONED", iops=facts.metadata_iops
    )


def _read_cache(
    settings: Lustre,
) -> aws_fsx.CfnFileSystem.DataReadCacheConfigurationProperty | None:
    """Return the read cache, required for Intelligent-Tiering and forbidden for other types.

    Only a user-provisioned cache has a size (FSx API reference, LustreReadCacheConfiguration).
    """
    if settings.storage_type is not StorageType.INTELLIGENT_TIERING:
        return None
    sizing_modes = {None: "PROPORTIONAL_TO_THROUGHPUT_CAPACITY", 0: "NO_CACHE"}
    return aws_fsx.CfnFileSystem.DataReadCacheConfigurationProperty(
        sizing_mode=sizing_modes.get(settings.read_cache_gib, "USER_PROVISIONED"),
        size_gib=settings.read_cache_gib or None,
    )


def _drive_cache(settings: Lustre) -> str | None:
    """Return the drive cache, required for HDD and forbidden for other types."""
    if settings.storage_type is not StorageType.HDD:
        return None
    return "READ" if settings.drive_cache else "NONE"
