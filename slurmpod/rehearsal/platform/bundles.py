"""The lifecycle scripts of a cluster's instance groups, as HyperPod fetches them from S3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from slurmpod.rehearsal.cloud.platform import ClusterFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.aws.gateway import Gateway
    from slurmpod.rehearsal.cloud.platform import Cluster

SCRIPTS_FAILED = (
    "Lifecycle scripts did not run successfully. Ensure the scripts exist in provided S3 path, "
    "are accessible, and run without errors."
)
"""The text of HyperPod's own message; the rehearsal adds the node and its last line of output."""


@dataclass(frozen=True)
class DownloadedBundle:
    """Everything under one SourceS3Uri, where it goes on a node, and which script is run."""

    files: Mapping[str, bytes]
    folder: str
    entry_script: str


def download_bundles(gateway: Gateway, cluster: Cluster) -> Mapping[str, DownloadedBundle]:
    """Return each group's bundle by the group's name; raises ClusterFailed as HyperPod would."""
    files_at: dict[str, Mapping[str, bytes]] = {}
    bundles = {}
    for group in cluster.groups:
        if group.lifecycle is None or group.lifecycle.on_create is None:
            raise ClusterFailed(f"Instance group {group.name} has no OnCreate script.")
        uri, entry_script = group.lifecycle.source_s3_uri, group.lifecycle.on_create
        address = urlsplit(uri)
        bucket, prefix = address.netloc, address.path.strip("/")
        if uri not in files_at:
            files_at[uri] = gateway.objects(bucket, prefix)
        if entry_script not in files_at[uri]:
            raise ClusterFailed(f"{SCRIPTS_FAILED} There is no {entry_script} under {uri}.")
        bundles[group.name] = DownloadedBundle(
            files=files_at[uri],
            folder=f"/tmp/{bucket}/{prefix}",  # noqa: S108  # HyperPod's own choice, on the node
            entry_script=entry_script,
        )
    return bundles
