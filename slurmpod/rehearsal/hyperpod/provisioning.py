"""Slurm roles of instance groups, from the API or from a file next to the scripts.

The keys of provisioning_parameters.json are those of the HyperPod developer guide.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from botocore.exceptions import ClientError

from embedded_aws.cluster import ClusterFailed, FileSystemMount, InstanceGroup, NodeType
from slurmpod.rehearsal.hyperpod.node_roles import AssumeRole

SCRIPTS_FAILED = (
    "Lifecycle scripts did not run successfully. Ensure the scripts exist in provided S3 path, "
    "are accessible, and run without errors."
)
"""HyperPod's own message; the rehearsal adds the node and its last line of output."""


ROLE_MAY_NOT_READ = (
    "Execution role provided does not have permissions to access the bucket {uri}/. Please ensure "
    "that the role has minimum permissions to read the bucket (s3:ListBucket, s3:GetObject)."
)
"""HyperPod's own message, from public reports; the rehearsal adds S3's."""


@dataclass(frozen=True)
class DownloadedBundle:
    """Everything under one SourceS3Uri, its folder on a node, and the entry script."""

    files: Mapping[str, bytes]
    folder: str
    entry_script: str


def download_bundles(
    assume_role: AssumeRole, groups: Iterable[InstanceGroup]
) -> Mapping[str, DownloadedBundle]:
    """Return the bundle of each group that has scripts, by the group's name.

    Raises ClusterFailed, as HyperPod does, if a script is missing or the group's role may not
    read it.
    """
    files_at: dict[tuple[str, str], Mapping[str, bytes]] = {}
    bundles = {}
    for group in groups:
        if group.lifecycle is None:
            continue
        uri, entry_script = group.lifecycle.source_s3_uri, group.lifecycle.entry_script
        address = urlsplit(uri)
        bucket, prefix = address.netloc, address.path.strip("/")
        source = (group.execution_role_arn, uri)
        if source not in files_at:
            files_at[source] = _download(assume_role, *source)
        if entry_script not in files_at[source]:
            raise ClusterFailed(f"{SCRIPTS_FAILED} There is no {entry_script} under {uri}.")
        bundles[group.name] = DownloadedBundle(
            files=files_at[source],
            folder=f"/tmp/{bucket}/{prefix}",  # noqa: S108  # HyperPod's own choice, on the node
            entry_script=entry_script,
        )
    return bundles


def _download(assume_role: AssumeRole, role_arn: str, uri: str) -> Mapping[str, bytes]:
    address = urlsplit(uri)
    try:
        return assume_role(role_arn).gateway.objects(address.netloc, address.path.strip("/"))
    except ClientError as error:
        if error.response["Error"]["Code"] != "AccessDenied":
            raise
        raise ClusterFailed(f"{ROLE_MAY_NOT_READ.format(uri=uri)} {error}") from error


FILE_NAME = "provisioning_parameters.json"
BOTH_CONFIGURATIONS = (
    "The LifeCycleConfig cannot include both a SLURM Orchestrator Config and a "
    f"{FILE_NAME} file simultaneously."
)
"""HyperPod's own message (developer guide, migration to the API)."""
LUSTRE_FOLDER = "/fsx"
"""The mount point in public lifecycle scripts for the file's file system."""
DATABASE_USER = "admin"
"""The database user of several controllers if the file names none."""


@dataclass(frozen=True)
class SharedDatabase:
    """The database shared by several controllers; the secret has the user's password."""

    endpoint: str
    secret_arn: str
    user: str
    port: int = 3306


@dataclass(frozen=True)
class Provisioning:
    """The roles of the instance groups; `partitions` has each worker group's partition.

    `file` is the content of provisioning_parameters.json, None if the API has all of it; `mounts`
    are that file's file systems.
    """

    controller_group: str
    login_group: str | None
    partitions: Mapping[str, str]
    file: bytes | None = None
    mounts: tuple[FileSystemMount, ...] = ()
    database: SharedDatabase | None = None


def provisioning_of(
    groups: Sequence[InstanceGroup], bundles: Mapping[str, DownloadedBundle]
) -> Provisioning:
    """Return the Slurm roles of the groups; raises ClusterFailed if HyperPod would.

    That is if neither source defines them, if both do, or if the definition is invalid.
    """
    files = [bundle.files for bundle in bundles.values()]
    if not any(group.slurm for group in groups):
        return read_provisioning(files[0], [group.name for group in groups])
    if any(FILE_NAME in bundle for bundle in files):
        raise ClusterFailed(BOTH_CONFIGURATIONS)
    by_type: dict[NodeType, str] = {}
    partitions = {}
    for group in groups:
        if group.slurm and group.slurm.partition:
            partitions[group.name] = group.slurm.partition
        elif group.slurm:
            by_type[group.slurm.node_type] = group.name
    return Provisioning(
        controller_group=by_type[NodeType.CONTROLLER],
        login_group=by_type.get(NodeType.LOGIN),
        partitions=partitions,
    )


def read_provisioning(bundle: Mapping[str, bytes], group_names: Iterable[str]) -> Provisioning:
    """Read the bundle's provisioning parameters; raises ClusterFailed if HyperPod would."""
    if FILE_NAME not in bundle:
        raise ClusterFailed(f"{FILE_NAME} is missing from the lifecycle scripts' folder.")
    try:
        provisioning = _parse(bundle[FILE_NAME])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ClusterFailed(f"{FILE_NAME} cannot be read: {error!r}.") from error
    named = {provisioning.controller_group, *provisioning.partitions}
    if provisioning.login_group:
        named.add(provisioning.login_group)
    unknown = sorted(named - set(group_names))
    if unknown:
        raise ClusterFailed(
            f"{FILE_NAME} names instance groups that the cluster does not have: "
            f"{', '.join(unknown)}."
        )
    return provisioning


def _parse(content: bytes) -> Provisioning:
    document = json.loads(content)
    return Provisioning(
        controller_group=document["controller_group"],
        login_group=document.get("login_group"),
        partitions={
            group["instance_group_name"]: group["partition_name"]
            for group in document["worker_groups"]
        },
        file=content,
        mounts=_mounts(document.get("fsx_dns_name"), document.get("fsx_mountname")),
        database=_database(document.get("slurm_configurations")),
    )


def _mounts(dns_name: str | None, mount_name: str | None) -> tuple[FileSystemMount, ...]:
    if not dns_name or not mount_name:
        return ()
    return (FileSystemMount("lustre", f"{dns_name}@tcp:/{mount_name}", LUSTRE_FOLDER),)


def _database(given: Any) -> SharedDatabase | None:
    if not given:
        return None
    return SharedDatabase(
        endpoint=given["slurm_database_endpoint"],
        secret_arn=given["slurm_database_secret_arn"],
        user=given.get("slurm_database_user", DATABASE_USER),
    )
