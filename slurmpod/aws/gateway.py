"""One typed gateway to AWS with only the calls that this project makes."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import boto3
    from types_boto3_cloudformation import CloudFormationClient
    from types_boto3_fsx import FSxClient
    from types_boto3_logs import CloudWatchLogsClient
    from types_boto3_s3 import S3Client
    from types_boto3_sagemaker import SageMakerClient

LINES_PER_PUT = 1000


@dataclass(frozen=True)
class Stack:
    """A CloudFormation stack: its status, why it failed (empty if it did not), and its outputs."""

    name: str
    status: str
    failure: str
    outputs: Mapping[str, str]


@dataclass(frozen=True)
class ClusterNode:
    """A node of a HyperPod cluster, as ListClusterNodes and DescribeClusterNode tell it."""

    group: str
    instance_id: str
    instance_type: str
    status: str
    private_ip: str

    @property
    def hostname(self) -> str:
        """The node's host name, which is also its name in Slurm."""
        return f"ip-{self.private_ip.replace('.', '-')}"


@dataclass(frozen=True)
class LustreFileSystem:
    """An FSx for Lustre file system, as far as mounting it goes."""

    file_system_id: str
    dns_name: str
    mount_name: str

    @property
    def source(self) -> str:
        """The device that `mount -t lustre` takes."""
        return f"{self.dns_name}@tcp:/{self.mount_name}"


class Gateway:
    """Calls to one account and Region, each client made when first needed.

    `session` decides about credentials and Region; `endpoint_url` leads to an embedded AWS.
    """

    def __init__(self, session: boto3.session.Session, *, endpoint_url: str | None = None) -> None:
        self._session = session
        self._endpoint_url = endpoint_url

    def stacks(self, names: Iterable[str]) -> tuple[Stack, ...]:
        """Return those of the named stacks that exist, in the order of the names."""
        found = {}
        for page in self._cloudformation.get_paginator("describe_stacks").paginate():
            for stack in page["Stacks"]:
                found[stack["StackName"]] = Stack(
                    name=stack["StackName"],
                    status=stack["StackStatus"],
                    failure=self._failure(stack["StackName"], stack["StackStatus"]),
                    outputs={
                        output["OutputKey"]: output["OutputValue"]
                        for output in stack.get("Outputs", [])
                    },
                )
        return tuple(found[name] for name in names if name in found)

    def cluster_nodes(self, cluster: str) -> tuple[ClusterNode, ...]:
        """Return all nodes of a cluster, group by group in the order of their addresses."""
        nodes = []
        for page in self._sagemaker.get_paginator("list_cluster_nodes").paginate(
            ClusterName=cluster
        ):
            for summary in page["ClusterNodeSummaries"]:
                details = self._sagemaker.describe_cluster_node(
                    ClusterName=cluster, NodeId=summary["InstanceId"]
                )["NodeDetails"]
                nodes.append(
                    ClusterNode(
                        group=summary["InstanceGroupName"],
                        instance_id=summary["InstanceId"],
                        instance_type=summary["InstanceType"],
                        status=summary["InstanceStatus"]["Status"],
                        private_ip=details["PrivatePrimaryIp"],
                    )
                )
        return tuple(sorted(nodes, key=lambda node: (node.group, node.private_ip)))

    def objects(self, bucket: str, prefix: str) -> Mapping[str, bytes]:
        """Return the content of every object under `prefix`, by its key below it."""
        found: dict[str, bytes] = {}
        for page in self._s3.get_paginator("list_objects_v2").paginate(
            Bucket=bucket, Prefix=f"{prefix}/"
        ):
            for item in page.get("Contents", []):
                body = self._s3.get_object(Bucket=bucket, Key=item["Key"])["Body"]
                found[item["Key"].removeprefix(f"{prefix}/")] = body.read()
        return found

    def lustre_file_systems(self) -> tuple[LustreFileSystem, ...]:
        """Return every FSx for Lustre file system of the account and Region."""
        answer = self._fsx.describe_file_systems()
        return tuple(
            LustreFileSystem(
                file_system_id=item["FileSystemId"],
                dns_name=item["DNSName"],
                mount_name=item["LustreConfiguration"]["MountName"],
            )
            for item in answer["FileSystems"]
            if item["FileSystemType"] == "LUSTRE"
        )

    def create_log_stream(self, group: str, stream: str) -> None:
        """Create a CloudWatch Logs stream, and its group if need be; existing ones are kept."""
        exists = self._logs.exceptions.ResourceAlreadyExistsException
        with contextlib.suppress(exists):
            self._logs.create_log_group(logGroupName=group)
        with contextlib.suppress(exists):
            self._logs.create_log_stream(logGroupName=group, logStreamName=stream)

    def write_log(self, group: str, stream: str, lines: Iterable[str]) -> None:
        """Append lines to an existing log stream, all with the time of now; empty ones are left."""
        now_milliseconds = int(time.time() * 1000)
        events = [{"timestamp": now_milliseconds, "message": line} for line in lines if line]
        for first in range(0, len(events), LINES_PER_PUT):
            self._logs.put_log_events(
                logGroupName=group,
                logStreamName=stream,
                logEvents=events[first : first + LINES_PER_PUT],  # type: ignore[arg-type]
            )

    def _failure(self, stack: str, status: str) -> str:
        """Return why a stack failed: the reason of its first failed resource in this attempt."""
        if "FAILED" not in status and "ROLLBACK" not in status:
            return ""
        events = self._cloudformation.describe_stack_events(StackName=stack)["StackEvents"]
        reasons = [
            f"{event['LogicalResourceId']}: {event.get('ResourceStatusReason', '')}"
            for event in events
            if event["ResourceStatus"].endswith("_FAILED")
        ]
        return reasons[-1] if reasons else ""

    @cached_property
    def _cloudformation(self) -> CloudFormationClient:
        return self._session.client("cloudformation", endpoint_url=self._endpoint_url)

    @cached_property
    def _sagemaker(self) -> SageMakerClient:
        return self._session.client("sagemaker", endpoint_url=self._endpoint_url)

    @cached_property
    def _s3(self) -> S3Client:
        return self._session.client("s3", endpoint_url=self._endpoint_url)

    @cached_property
    def _fsx(self) -> FSxClient:
        return self._session.client("fsx", endpoint_url=self._endpoint_url)

    @cached_property
    def _logs(self) -> CloudWatchLogsClient:
        return self._session.client("logs", endpoint_url=self._endpoint_url)
