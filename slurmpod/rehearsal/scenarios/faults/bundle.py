"""The lifecycle scripts in the cluster's bucket, from where HyperPod fetches them for new nodes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypedDict
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.rehearsal.scenarios.faults.cluster import FaultCluster


class Place(TypedDict):
    """Where an object is in S3, as boto3 takes it."""

    Bucket: str
    Key: str


def place_of(cluster: FaultCluster, node: str, name: str) -> Place:
    """Return where a file is, or would be, beside the scripts of a node's group."""
    uri = urlsplit(f"{cluster.group_of(node)['LifeCycleConfig']['SourceS3Uri']}/{name}")
    return {"Bucket": uri.netloc, "Key": uri.path.lstrip("/")}


@contextmanager
def entry_script(cluster: FaultCluster, node: str, text: str) -> Iterator[None]:
    """Let what HyperPod starts on new nodes be another script, for as long as the block."""
    lifecycle, s3 = cluster.group_of(node)["LifeCycleConfig"], cluster.aws.s3
    name = lifecycle.get("OnCreate") or lifecycle["OnInitComplete"]
    place = place_of(cluster, node, name)
    ours = s3.get_object(**place)["Body"].read()
    try:
        s3.put_object(**place, Body=text.encode())
        yield
    finally:
        s3.put_object(**place, Body=ours)
