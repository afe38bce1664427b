"""The lifecycle scripts of a cluster's instance groups, as HyperPod fetches them from S3."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from botocore.exceptions import ClientError

from embedded_aws.cluster import ClusterFailed, InstanceGroup
from slurmpod.rehearsal.hyperpod.node_roles import AssumeRole

SCRIPTS_FAILED = (
    "Lifecycle scripts did not run successfully. Ensure the scripts exist in provided S3 path, "
    "are accessible, and run without errors."
)
"""The text of HyperPod's own message; the rehearsal adds the node and its last line of output."""


ROLE_MAY_NOT_READ = (
    "Execution role provided does not have permissions to access the bucket {uri}/. Please ensure "
    "that the role has minimum permissions to read the bucket (s3:ListBucket, s3:GetObject)."
)
"""HyperPod's own message, from public reports; the rehearsal adds S3's."""


@dataclass(frozen=True)
class DownloadedBundle:
    """Everything under one SourceS3Uri, where it goes on a node, and which script is run."""

    files: Mapping[str, bytes]
    folder: str
    entry_script: str


def download_bundles(
    assume_role: AssumeRole, groups: Iterable[InstanceGroup]
) -> Mapping[str, DownloadedBundle]:
    """Return the bundle of each group that has scripts, by the group's name.

    Raises ClusterFailed as HyperPod would when a script is missing, or the group's role may not
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
