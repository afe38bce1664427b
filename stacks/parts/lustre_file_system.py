"""The shared file system: FSx for Lustre, kept when its stack goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import RemovalPolicy, Tags, aws_fsx
from constructs import Construct

if TYPE_CHECKING:
    from slurmpod.resolve import ResolvedFileSystem

LUSTRE_VERSION = "2.15"
"""The first version with metadata configuration."""


class LustreFileSystem(Construct):
    """A PERSISTENT_2 SSD file system in one subnet.

    L1, because the L2 construct knows no metadata configuration, and FSx does not let one be added
    later. Removing or replacing the resource keeps the data; only a first creation that fails is
    rolled back.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        name: str,
        file_system: ResolvedFileSystem,
        subnet_id: str,
        security_group_id: str,
    ) -> None:
        super().__init__(scope, id_)
        lustre = aws_fsx.CfnFileSystem(
            self,
            "FileSystem",
            file_system_type="LUSTRE",
            file_system_type_version=LUSTRE_VERSION,
            storage_type="SSD",
            storage_capacity=file_system.capacity_gib,
            subnet_ids=[subnet_id],
            security_group_ids=[security_group_id],
            lustre_configuration=aws_fsx.CfnFileSystem.LustreConfigurationProperty(
                deployment_type="PERSISTENT_2",
                per_unit_storage_throughput=file_system.throughput_mbps_per_tib,
                data_compression_type=file_system.compression,
                metadata_configuration=aws_fsx.CfnFileSystem.MetadataConfigurationProperty(
                    mode="AUTOMATIC"
                ),
            ),
        )
        lustre.apply_removal_policy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE)
        Tags.of(lustre).add("Name", name)
        self.file_system_id = lustre.ref
        self.dns_name = lustre.attr_dns_name
        self.mount_name = lustre.attr_lustre_mount_name
