"""FSx for OpenZFS: small files with low latency, such as home directories, over NFS."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Tags, aws_fsx
from constructs import Construct

from slurmpod.environment.storage import OpenZfs
from slurmpod.request.interfaces import HasKeyArn, HasSecurityGroupId, HasSubnetId
from slurmpod.resolve.storage import openzfs_throughput_mbps
from slurmpod.rules.plain_settings import mistakes_of_openzfs
from slurmpod_cdk.given_properties import make_after, refuse
from slurmpod_cdk.retention import apply_on_delete

NFS_OPTIONS = ("rw", "crossmnt", "no_root_squash")
"""Root on a node creates home directories and changes their owner, hence no root squash."""


DELETE_EVERYTHING = ["DELETE_CHILD_VOLUMES_AND_SNAPSHOTS"]
"""Without it FSx does not delete a file system that has child volumes or snapshots."""


class OpenZfsFileSystem(Construct):
    """A file system in one zone with one root volume, which every host that reaches it may mount.

    Security groups control access. A list of addresses in the export would duplicate that, and
    CloudFormation replaces the file system when anything in its root volume changes: adding a CIDR
    block to the VPC would leave all users with empty home directories.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        subnet: HasSubnetId,
        security_groups: Sequence[HasSecurityGroupId],
        settings: OpenZfs | None = None,
        kms_key: HasKeyArn | None = None,
        name: str | None = None,
    ) -> None:
        """Make a file system with `settings`, those of `storage.openzfs` in an environment.

        `kms_key` overrides the key in the settings; `name` is shown in the console.

        Raises:
            WrongProperties: FSx refuses such a file system, or `settings` name an existing one.
        """
        super().__init__(scope, id_)
        settings = settings or OpenZfs()
        refuse(self, mistakes_of_openzfs(settings))
        openzfs = aws_fsx.CfnFileSystem(
            self,
            "FileSystem",
            file_system_type="OPENZFS",
            storage_type="SSD",
            storage_capacity=settings.capacity_gib,
            kms_key_id=kms_key.key_arn if kms_key else settings.kms_key_arn,
            subnet_ids=[subnet.subnet_id],
            security_group_ids=[group.security_group_id for group in security_groups],
            open_zfs_configuration=_configuration(settings),
        )
        apply_on_delete(openzfs, settings.on_delete)
        make_after(openzfs, *security_groups)
        Tags.of(openzfs).add("Name", name or self.node.path)
        self.file_system_id = openzfs.ref
        self.dns_name = openzfs.attr_dns_name
        self.mount_path = settings.mount_path


def _configuration(
    settings: OpenZfs,
) -> aws_fsx.CfnFileSystem.OpenZFSConfigurationProperty:
    backups = settings.backups
    return aws_fsx.CfnFileSystem.OpenZFSConfigurationProperty(
        deployment_type=settings.deployment_type,
        throughput_capacity=openzfs_throughput_mbps(settings),
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
