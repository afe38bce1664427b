"""Requests to AWS that a rehearsal makes on behalf of HyperPod and the nodes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from embedded_aws.reachability.ec2 import graph_of
from embedded_aws.reachability.model import Graph
from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import suppressed

LINES_PER_PUT = 1000
OPENZFS_ROOT = "fsx"
"""The export name of the root volume of an FSx for OpenZFS file system."""


@dataclass(frozen=True)
class SharedFileSystem:
    """An FSx file system for Lustre or OpenZFS; `source` is the device for `mount`.

    `interfaces` are the ids of its network interfaces.
    """

    file_system_id: str
    source: str
    interfaces: tuple[str, ...] = ()


@dataclass(frozen=True)
class DatabaseServer:
    """An RDS server: its address, its place in a VPC, and its changed parameters.

    `secret_arn` is the secret with the password that RDS manages.
    """

    identifier: str
    endpoint: str
    port: int
    private_ip: str
    subnet_cidr: str
    vpc_id: str
    secret_arn: str
    parameters: Mapping[str, str]
    interface_id: str = ""


@dataclass(frozen=True)
class Gateway:
    """Calls to one account and Region; the caller handles the SDK's errors."""

    clients: AwsClients

    def objects(self, bucket: str, prefix: str) -> Mapping[str, bytes]:
        """Return the content of every object under `prefix`, by relative key."""
        found: dict[str, bytes] = {}
        for page in self.clients.s3.get_paginator("list_objects_v2").paginate(
            Bucket=bucket, Prefix=f"{prefix}/"
        ):
            for item in page.get("Contents", []):
                body = self.clients.s3.get_object(Bucket=bucket, Key=item["Key"])["Body"]
                found[item["Key"].removeprefix(f"{prefix}/")] = body.read()
        return found

    def shared_file_systems(self) -> tuple[SharedFileSystem, ...]:
        """Return every FSx file system of the account and Region that Linux nodes can mount."""
        found = []
        for item in self.clients.fsx.describe_file_systems()["FileSystems"]:
            source = ""
            if item["FileSystemType"] == "LUSTRE":
                source = f"{item['DNSName']}@tcp:/{item['LustreConfiguration']['MountName']}"
            elif item["FileSystemType"] == "OPENZFS":
                source = f"{item['DNSName']}:/{OPENZFS_ROOT}"
            if source:
                interfaces = tuple(item.get("NetworkInterfaceIds", ()))
                found.append(SharedFileSystem(item["FileSystemId"], source, interfaces))
        return tuple(found)

    def database_servers(self) -> tuple[DatabaseServer, ...]:
        """Return the RDS servers in a subnet whose password RDS manages."""
        found = []
        for item in self.clients.rds.describe_db_instances()["DBInstances"]:
            groups = [group["VpcSecurityGroupId"] for group in item["VpcSecurityGroups"]]
            interfaces = self._interfaces_of_rds(groups)
            if "MasterUserSecret" in item and interfaces:
                subnet_ids = [interfaces[0]["SubnetId"]]
                (subnet,) = self.clients.ec2.describe_subnets(SubnetIds=subnet_ids)["Subnets"]
                found.append(
                    DatabaseServer(
                        identifier=item["DBInstanceIdentifier"],
                        endpoint=item["Endpoint"]["Address"],
                        port=item["Endpoint"]["Port"],
                        private_ip=interfaces[0]["PrivateIpAddress"],
                        subnet_cidr=subnet["CidrBlock"],
                        vpc_id=subnet["VpcId"],
                        secret_arn=item["MasterUserSecret"]["SecretArn"],
                        parameters=self._database_parameters(item),
                        interface_id=interfaces[0]["NetworkInterfaceId"],
                    )
                )
        return tuple(found)

    def vpc_graph(self, vpc_id: str, interfaces: Iterable[str], groups: Iterable[str]) -> Graph:
        """Return the network graph of a VPC, with these interfaces and security groups."""
        return graph_of(self.clients.ec2, vpc_id, interfaces=set(interfaces), groups=set(groups))

    def secret(self, arn: str) -> str:
        """Return a secret's text from Secrets Manager."""
        return str(self.clients.secrets_manager.get_secret_value(SecretId=arn)["SecretString"])

    def create_log_stream(self, group: str, stream: str) -> None:
        """Create a CloudWatch Logs stream, and its group if needed; keep existing ones."""
        with suppressed("ResourceAlreadyExistsException"):
            self.clients.logs.create_log_group(logGroupName=group)
        with suppressed("ResourceAlreadyExistsException"):
            self.clients.logs.create_log_stream(logGroupName=group, logStreamName=stream)

    def write_log(self, group: str, stream: str, lines: Iterable[str]) -> None:
        """Append lines with the current time to an existing log stream; skip empty lines."""
        now_milliseconds = int(time.time() * 1000)
        events = [{"timestamp": now_milliseconds, "message": line} for line in lines if line]
        for first in range(0, len(events), LINES_PER_PUT):
            self.clients.logs.put_log_events(
                logGroupName=group,
                logStreamName=stream,
                logEvents=events[first : first + LINES_PER_PUT],  # type: ignore[arg-type]
            )

    def _interfaces_of_rds(self, group_ids: list[str]) -> list[Any]:
        """Return the network interfaces of a server: EC2 only reports their groups."""
        filters = [
            {"Name": "description", "Values": ["RDSNetworkInterface"]},
            {"Name": "group-id", "Values": group_ids},
        ]
        found = self.clients.ec2.describe_network_interfaces(Filters=filters)
        return list(found["NetworkInterfaces"])

    def _database_parameters(self, server: Mapping[str, Any]) -> Mapping[str, str]:
        return {
            parameter["ParameterName"]: parameter["ParameterValue"]
            for group in server["DBParameterGroups"]
            if not group["DBParameterGroupName"].startswith("default.")
            for parameter in self.clients.rds.describe_db_parameters(
                DBParameterGroupName=group["DBParameterGroupName"], Source="user"
            )["Parameters"]
        }
