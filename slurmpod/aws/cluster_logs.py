"""Logs that HyperPod kept of the lifecycle scripts of a cluster's nodes. Only reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import as_unavailable

STREAMS = "LifecycleConfig/"
"""HyperPod's stream of a node is LifecycleConfig/<group>/<instance id> in the log group
/aws/sagemaker/Clusters/<name>/<id> (SageMaker HyperPod developer guide, troubleshooting)."""


@dataclass(frozen=True)
class ClusterLogs:
    """CloudWatch Logs of one account and Region."""

    clients: AwsClients

    def last_lines(self, cluster: str, cluster_id: str, word: str) -> Mapping[str, str]:
        """Return the last line with `word` that the scripts of each node wrote.

        They go by `<group>/<instance id>`, also of nodes that are no more. Raises AwsUnavailable.
        """
        found = {}
        with as_unavailable(f"read the logs of {cluster}"):
            pages = self.clients.logs.get_paginator("filter_log_events").paginate(
                logGroupName=f"/aws/sagemaker/Clusters/{cluster}/{cluster_id}",
                logStreamNamePrefix=STREAMS,
                filterPattern=f'"{word}"',
            )
            events = [event for page in pages for event in page["events"]]
        for event in sorted(events, key=lambda event: event["timestamp"]):
            if event["logStreamName"].startswith(STREAMS):
                found[event["logStreamName"].removeprefix(STREAMS)] = event["message"]
        return found
