"""Log lines that the nodes of a cluster wrote to CloudWatch Logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import as_unavailable

STREAMS = "LifecycleConfig/"
"""HyperPod logs a node to the stream LifecycleConfig/<group>/<instance id> in the log group
/aws/sagemaker/Clusters/<name>/<id> (SageMaker HyperPod developer guide, troubleshooting)."""


def log_group_of(cluster: str, cluster_id: str) -> str:
    """Return the log group that HyperPod and the nodes of a cluster write to."""
    return f"/aws/sagemaker/Clusters/{cluster}/{cluster_id}"


@dataclass(frozen=True)
class ClusterLogs:
    """CloudWatch Logs of one account and Region."""

    clients: AwsClients

    def last_lines(
        self, cluster: str, cluster_id: str, word: str
    ) -> Mapping[str, tuple[datetime, str]]:
        """Return the last line with `word` from the scripts of each node, and its time.

        The keys are `<group>/<instance id>`, also of deleted nodes. Raises AwsUnavailable.
        """
        found = {}
        with as_unavailable(f"read the logs of {cluster}"):
            pages = self.clients.logs.get_paginator("filter_log_events").paginate(
                logGroupName=log_group_of(cluster, cluster_id),
                logStreamNamePrefix=STREAMS,
                filterPattern=f'"{word}"',
            )
            events = [event for page in pages for event in page["events"]]
        for event in sorted(events, key=lambda event: event["timestamp"]):
            if event["logStreamName"].startswith(STREAMS):
                written = datetime.fromtimestamp(event["timestamp"] / 1000, UTC)
                found[event["logStreamName"].removeprefix(STREAMS)] = (written, event["message"])
        return found

    def lines(
        self, log_group: str, stream: str, since: datetime
    ) -> tuple[tuple[datetime, str], ...]:
        """Return timestamped lines of the streams with the prefix `stream`, oldest first.

        A missing stream has no lines. Raises AwsUnavailable.
        """
        prefix: Any = {"logStreamNamePrefix": stream} if stream else {}
        with as_unavailable(f"read the log group {log_group}"):
            pages = self.clients.logs.get_paginator("filter_log_events").paginate(
                logGroupName=log_group, startTime=int(since.timestamp() * 1000), **prefix
            )
            found = [
                (datetime.fromtimestamp(event["timestamp"] / 1000, UTC), event["message"])
                for page in pages
                for event in page["events"]
            ]
        return tuple(sorted(found, key=lambda line: line[0]))
