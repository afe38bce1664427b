"""FSx for OpenZFS: small files with low latency, such as home directories, by NFS."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Tags, aws_fsx
from constructs import Construct

from slurmpod.resolve import ResolvedOpenZfs
from slurmpod_cdk.parts.retention import apply_on_delete

NFS_OPTIONS = ("rw", "crossmnt", "no_root_squash")
"""Root of a node makes the home directories of users and gives them away, hence no squash."""


DELETE_EVERYTHING = ["DELETE_CHILD_VOLUMES_AND_SNAPSHOTS"]
"""Without it FSx does not delete a file system on which somebody made a volume or a snapshot."""


class OpenZfsFileSystem(Construct):
    """A file system in one zone with one root volume, which whoever reaches it may mount.

    Who that is, the security groups say. A list of addresses in the export would repeat it, and
    CloudFormation replaces the file system when anything in its root volume changes: one more
    block of addresses for the VPC would leave everybody with an empty home.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        name: str,
        file_system: ResolvedOpenZfs,
        subnet_id: str,
        security_group_ids: Sequence[str],
    ) -> None:
        super().__init__(scope, id_)
        settings = file_system.settings
        openzfs = aws_fsx.CfnFileSystem(
            self,
            "FileSystem",
            file_system_type="OPENZFS",
            storage_type="SSD",
            storage_capacity=settings.capacity_gib,
            kms_key_id=settings.kms_key_arn,
            subnet_ids=[subnet_id],
            security_group_ids=list(security_group_ids),
            open_zfs_configuration=_configuration(file_system),
        )
        apply_on_delete(openzfs, settings.on_delete)
        Tags.of(openzfs).add("Name", name)
        self.file_system_id = openzfs.ref
        self.dns_name = openzfs.attr_dns_name


def _configuration(
    file_system: ResolvedOpenZfs,
) -> aws_fsx.CfnFileSystem.OpenZFSConfigurationProperty:
    settings = file_system.settings
    backups = settings.backups
    return aws_fsx.CfnFileSystem.OpenZFSConfigurationProperty(
        deployment_type=settings.deployment_type,
        throughput_capacity=file_system.throughput_mbps,
        disk_iops_configuration=_iops(settings.iops),
        root_volume_configuration=_root_volume(settings.compression),
        automatic_backup_retention_days=backups.retention_days if backups else 0,
        daily_automatic_backup_start_time=backups.start_time if backups else None,
        copy_tags_to_backups=backups.copy_tags if backups else None,
        weekly_maintenance_start_time=settings.maintenance_window,
        options=DELETE_EVERYTHING if settings.on_delete == "delete" else None,
    )


def _iops(iops: int | None) -> aws_fsx.CfnFileSystem.DiskIopsConfigurationProperty:
    if iops is None:
        return aws_fsx.CfnFileSystem.DiskIopsConfigurationProperty(mode="AUTOMATIC")
    return aws_fsx.CfnFileSystem.DiskIopsConfigurationProperty(mode="USER_PROVISIONED", iops=iops)


def _root_volume(compression: str) -> aws_fsx.CfnFileSystem.RootVolumeConfigurationProperty:
    everyone = aws_fsx.CfnFileSystem.ClientConfigurationsProperty(
        clients="*", options=list(NFS_OPTIONS)
    )
    return aws_fsx.CfnFileSystem.RootVolumeConfigurationProperty(
        data_compression_type=compression,
        nfs_exports=[aws_fsx.CfnFileSystem.NfsExportsProperty(client_configurations=[everyone])],
    )
