"""The database stack: an RDS server for job records."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import CfnOutput
from constructs import Construct

from slurmpod.resolve import NewDatabase, Resolved, ResolvedDatabase
from slurmpod_cdk.database.mariadb_server import MariaDbServer
from slurmpod_cdk.environment_stack import EnvironmentStack
from slurmpod_cdk.network.stack import ClusterNetwork


@dataclass(frozen=True)
class DatabaseServer:
    """The address and credentials of the server: tokens."""

    stack: DatabaseStack
    endpoint: str
    port: str
    secret_arn: str


def database_of(
    scope: Construct, resolved: Resolved, network: ClusterNetwork
) -> DatabaseServer | None:
    """Make the database if the environment has one, else return None."""
    database = resolved.database
    if database is None or database.new is None:
        return None
    stack = DatabaseStack(
        scope, resolved=resolved, database=database, new=database.new, network=network
    )
    server = stack.server
    return DatabaseServer(stack, server.endpoint, server.port, server.secret_arn)


class DatabaseStack(EnvironmentStack):
    """The database of job records, which outlive the cluster."""

    def __init__(
        self,
        scope: Construct,
        *,
        resolved: Resolved,
        database: ResolvedDatabase,
        new: NewDatabase,
        network: ClusterNetwork,
    ) -> None:
        super().__init__(
            scope,
            str(resolved.stacks.database),
            resolved=resolved,
            description=f"Database for job records of the HyperPod cluster {resolved.name}",
        )
        self.server = MariaDbServer(
            self,
            "Records",
            database=database,
            new=new,
            vpc_id=network.vpc_id,
            subnet_ids=list(network.subnet_ids.values()),
            client_group_ids=network.security_group_ids,
        )
        self._add_outputs()

    def _add_outputs(self) -> None:
        server = self.server
        self._output("DatabaseIdentifier", server.identifier, "Name of the server in RDS")
        self._output("DatabaseEndpoint", server.endpoint, "DNS name of the server")
        self._output("DatabasePort", server.port, "Port of the server")
        self._output(
            "DatabaseSecretArn",
            server.secret_arn,
            "Secret with user and password, which RDS changes every seven days",
        )

    def _output(self, name: str, value: str, description: str) -> None:
        CfnOutput(self, name, value=value, description=description)
