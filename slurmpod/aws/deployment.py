"""Deployed stacks of an environment, and the logs of its cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import as_unavailable
from slurmpod.aws.stack_events import StackEvents

if TYPE_CHECKING:
    from types_boto3_cloudformation.type_defs import StackTypeDef


@dataclass(frozen=True)
class Stack:
    """A CloudFormation stack: its status, why it failed (empty if it did not), and its outputs.

    `changed` is when its last creation or update began, in ISO 8601.
    """

    name: str
    status: str
    failure: str
    outputs: Mapping[str, str]
    changed: str = ""


@dataclass(frozen=True)
class Deployment:
    """Questions to one account and Region; each raises AwsUnavailable when AWS does not answer."""

    clients: AwsClients

    def stacks(self, names: Iterable[str]) -> tuple[Stack, ...]:
        """Return those of the named stacks that exist, in the order of the names."""
        with as_unavailable("describe the stacks"):
            pages = self.clients.cloudformation.get_paginator("describe_stacks").paginate()
            found = {stack["StackName"]: stack for page in pages for stack in page["Stacks"]}
            return tuple(self._stack(found[name]) for name in names if name in found)

    def _stack(self, described: StackTypeDef) -> Stack:
        outputs = described.get("Outputs", [])
        return Stack(
            name=described["StackName"],
            status=described["StackStatus"],
            failure=self._failure(described["StackName"], described["StackStatus"]),
            outputs={output["OutputKey"]: output["OutputValue"] for output in outputs},
            changed=_changed(described),
        )

    def _failure(self, stack: str, status: str) -> str:
        """Return why a stack failed: the reason of its first failed resource in this attempt."""
        if "FAILED" not in status and "ROLLBACK" not in status:
            return ""
        return StackEvents(self.clients).first_failure(stack)


def _changed(described: StackTypeDef) -> str:
    when = described.get("LastUpdatedTime") or described.get("CreationTime")
    return when.isoformat(timespec="seconds") if when else ""


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
