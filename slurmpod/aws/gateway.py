"""One typed gateway to AWS with only the calls that this project makes."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from slurmpod.aws.errors import as_unavailable
from slurmpod.aws.iam_roles import read_policy, read_role
from slurmpod.aws.session import session_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import boto3
    from types_boto3_cloudformation import CloudFormationClient
    from types_boto3_fsx import FSxClient
    from types_boto3_iam import IAMClient
    from types_boto3_logs import CloudWatchLogsClient
    from types_boto3_s3 import S3Client
    from types_boto3_sagemaker import SageMakerClient
    from types_boto3_ssm import SSMClient
    from types_boto3_sts import STSClient

    from slurmpod.aws.iam_roles import IamRole

LINES_PER_PUT = 1000
OPENZFS_ROOT = "fsx"
"""The name under which FSx for OpenZFS exports a file system's root volume."""


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
class SharedFileSystem:
    """An FSx file system for Lustre or OpenZFS; `source` is the device that `mount` takes."""

    file_system_id: str
    source: str


@dataclass(frozen=True)
class DatabaseServer:
    """A server of RDS: where it answers, its address and subnet, and what was changed about it.

    `secret_arn` is the secret in which RDS keeps its password.
    """

    identifier: str
    endpoint: str
    port: int
    private_ip: str
    subnet_cidr: str
    secret_arn: str
    parameters: Mapping[str, str]


def gateway_of(region: str) -> Gateway:
    """Return a gateway with the credentials, and to the endpoints, that the user's settings name.

    Raises:
        AwsUnavailable: The settings name a profile that is not there.
    """
    return Gateway(session_of(region))


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

    def shared_file_systems(self) -> tuple[SharedFileSystem, ...]:
        """Return every FSx file system of the account and Region that Linux nodes can mount."""
        found = []
        for item in self._fsx.describe_file_systems()["FileSystems"]:
            source = ""
            if item["FileSystemType"] == "LUSTRE":
                source = f"{item['DNSName']}@tcp:/{item['LustreConfiguration']['MountName']}"
            elif item["FileSystemType"] == "OPENZFS":
                source = f"{item['DNSName']}:/{OPENZFS_ROOT}"
            if source:
                found.append(SharedFileSystem(item["FileSystemId"], source))
        return tuple(found)

    def database_servers(self) -> tuple[DatabaseServer, ...]:
        """Return the servers of RDS whose password RDS keeps, and that stand in a subnet."""
        found = []
        for item in self._rds.describe_db_instances()["DBInstances"]:
            groups = [group["VpcSecurityGroupId"] for group in item["VpcSecurityGroups"]]
            interfaces = self._interfaces_of_rds(groups)
            if "MasterUserSecret" in item and interfaces:
                (subnet,) = self._ec2.describe_subnets(SubnetIds=[interfaces[0]["SubnetId"]])[
                    "Subnets"
                ]
                found.append(
                    DatabaseServer(
                        identifier=item["DBInstanceIdentifier"],
                        endpoint=item["Endpoint"]["Address"],
                        port=item["Endpoint"]["Port"],
                        private_ip=interfaces[0]["PrivateIpAddress"],
                        subnet_cidr=subnet["CidrBlock"],
                        secret_arn=item["MasterUserSecret"]["SecretArn"],
                        parameters=self._database_parameters(item),
                    )
                )
        return tuple(found)

    def secret(self, arn: str) -> str:
        """Return the text of a secret in Secrets Manager."""
        return str(self._secrets_manager.get_secret_value(SecretId=arn)["SecretString"])

    def account(self) -> str:
        """Return the id of the account to which the credentials belong."""
        with as_unavailable("find out which account the credentials belong to"):
            return self._sts.get_caller_identity()["Account"]

    def iam_role(self, arn: str) -> IamRole | None:
        """Return a role with its policies; None where there is none of this ARN."""
        with as_unavailable(f"read the role {arn}"):
            return read_role(self._iam, arn)

    def iam_policy(self, arn: str) -> dict[str, Any] | None:
        """Return the document of a managed policy; None where there is none of this ARN."""
        with as_unavailable(f"read the policy {arn}"):
            return read_policy(self._iam, arn)

    def parameters(self, folder: str) -> Mapping[str, str]:
        """Return the values of all parameters directly below `folder`, by their names."""
        with as_unavailable(f"read the parameters below {folder}"):
            pages = self._ssm.get_paginator("get_parameters_by_path").paginate(Path=folder)
            return {
                parameter["Name"]: parameter["Value"]
                for page in pages
                for parameter in page["Parameters"]
            }

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

    def _interfaces_of_rds(self, group_ids: list[str]) -> list[Any]:
        """Return the interfaces of a server: EC2 tells only which groups they have."""
        filters = [
            {"Name": "description", "Values": ["RDSNetworkInterface"]},
            {"Name": "group-id", "Values": group_ids},
        ]
        return list(self._ec2.describe_network_interfaces(Filters=filters)["NetworkInterfaces"])

    def _database_parameters(self, server: Mapping[str, Any]) -> Mapping[str, str]:
        return {
            parameter["ParameterName"]: parameter["ParameterValue"]
            for group in server["DBParameterGroups"]
            if not group["DBParameterGroupName"].startswith("default.")
            for parameter in self._rds.describe_db_parameters(
                DBParameterGroupName=group["DBParameterGroupName"], Source="user"
            )["Parameters"]
        }

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
    def _iam(self) -> IAMClient:
        return self._session.client("iam", endpoint_url=self._endpoint_url)

    @cached_property
    def _ssm(self) -> SSMClient:
        return self._session.client("ssm", endpoint_url=self._endpoint_url)

    @cached_property
    def _sts(self) -> STSClient:
        return self._session.client("sts", endpoint_url=self._endpoint_url)

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

    @cached_property
    def _secrets_manager(self) -> Any:
        return self._session.client("secretsmanager", endpoint_url=self._endpoint_url)

    @cached_property
    def _rds(self) -> Any:
        return self._session.client("rds", endpoint_url=self._endpoint_url)

    @cached_property
    def _ec2(self) -> Any:
        return self._session.client("ec2", endpoint_url=self._endpoint_url)
