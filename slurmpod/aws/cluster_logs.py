"""What HyperPod wrote of the lifecycle scripts of a cluster's nodes. Only reads."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from slurmpod.aws.errors import as_unavailable
from slurmpod.aws.session import session_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import boto3
    from types_boto3_logs import CloudWatchLogsClient

STREAMS = "LifecycleConfig/"
"""HyperPod's stream of a node is LifecycleConfig/<group>/<instance id> in the log group
/aws/sagemaker/Clusters/<name>/<id> (SageMaker HyperPod developer guide, troubleshooting)."""


def cluster_logs_of(region: str) -> ClusterLogs:
    """Return the logs of the account that the user's settings name.

    Raises:
        AwsUnavailable: The settings name a profile that is not there.
    """
    return ClusterLogs(session_of(region))


class ClusterLogs:
    """CloudWatch Logs of one account and Region."""

    def __init__(self, session: boto3.session.Session, *, endpoint_url: str | None = None) -> None:
        self._session = session
        self._endpoint_url = endpoint_url

    def last_lines(self, cluster: str, cluster_id: str, word: str) -> Mapping[str, str]:
        """Return the last line with `word` that the scripts of each node wrote.

        They go by `<group>/<instance id>`, also of nodes that are no more. Raises AwsUnavailable.
        """
        found = {}
        with as_unavailable(f"read the logs of {cluster}"):
            pages = self._logs.get_paginator("filter_log_events").paginate(
                logGroupName=f"/aws/sagemaker/Clusters/{cluster}/{cluster_id}",
                logStreamNamePrefix=STREAMS,
                filterPattern=f'"{word}"',
            )
            events = [event for page in pages for event in page["events"]]
        for event in sorted(events, key=lambda event: event["timestamp"]):
            if event["logStreamName"].startswith(STREAMS):
                found[event["logStreamName"].removeprefix(STREAMS)] = event["message"]
        return found

    @cached_property
    def _logs(self) -> CloudWatchLogsClient:
        return self._session.client("logs", endpoint_url=self._endpoint_url)
