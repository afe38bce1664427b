"""What the nodes of a cluster wrote into CloudWatch Logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import as_unavailable

STREAMS = "LifecycleConfig/"
"""HyperPod's stream of a node is LifecycleConfig/<group>/<instance id> in the log group
/aws/sagemaker/Clusters/<name>/<id> (SageMaker HyperPod developer guide, troubleshooting)."""


def log_group_of(cluster: str, cluster_id: str) -> str:
    """Return the log group in which HyperPod and the nodes of a cluster write."""
    return f"/aws/sagemaker/Clusters/{cluster}/{cluster_id}"


@dataclass(frozen=True)
class ClusterLogs:
    """CloudWatch Logs of one account and Region."""

    clients: AwsClients

    def last_lines(
        self, cluster: str, cluster_id: str, word: str
    ) -> Mapping[str, tuple[datetime, str]]:
        """Return the last line with `word` that the scripts of each node wrote, and its time.

        They go by `<group>/<instance id>`, also of nodes that are no more. Raises AwsUnavailable.
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
        """Return the lines of streams that begin with `stream`, with their times, the oldest first.

        Streams that are not there have none. Raises AwsUnavailable.
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
