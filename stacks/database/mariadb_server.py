"""The RDS server with MariaDB, which only the cluster's nodes can reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aws_cdk import (
    Acknowledgment,
    CfnDeletionPolicy,
    CfnResource,
    Validations,
    aws_ec2,
    aws_kms,
    aws_logs,
    aws_rds,
)
from constructs import Construct

from slurmpod.environment.file_systems import OnDelete
from slurmpod.resolve import NewDatabase, ResolvedDatabase
from slurmpod_cdk.retention import apply_on_delete

LOGS = ("error", "slowquery")
LOG_RETENTION_DAYS = 90
STORAGE_TYPE = "gp3"

STANDBY = "Standby"
"""Construct id that marks the standby server, which is not a resource: reviews look for it."""

DELETION_PROTECTION = "DeletionProtection"
"""Construct id that marks RDS's deletion protection, for the same reason."""

NO_WAY_OUT = aws_ec2.CfnSecurityGroup.EgressProperty(
    ip_protocol="icmp",
    cidr_ip="255.255.255.255/32",
    from_port=252,
    to_port=86,
    description="Nothing: a group without a rule may open connections to anywhere",
)


class MariaDbServer(Construct):
    """A server that only the given security groups can reach, on its port.

    RDS generates the password, stores it in Secrets Manager, and changes it every seven days: it is
    neither chosen nor in a template (RDS user guide, Password management with Secrets Manager). The
    server has a fixed name, so that a change for which CloudFormation would replace it with an
    empty one fails. If it is retained, so are the subnet group, security group and parameters that
    it uses, which cannot be deleted before it.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        database: ResolvedDatabase,
        new: NewDatabase,
        vpc_id: str,
        subnet_ids: Sequence[str],
        client_group_ids: Sequence[str],
    ) -> None:
        super().__init__(scope, id_)
        self._database, self._new = database, new
        key_arn = new.settings.kms_key_arn
        self._key = aws_kms.Key.from_key_arn(self, "Key", key_arn) if key_arn else None
        subnets = self._subnets(subnet_ids)
        group_id = self._security_group(vpc_id, client_group_ids)
        parameters = self._parameters()
        server = self._server(subnets, group_id, parameters)
        if new.settings.multi_az:
            Construct(self, STANDBY)
        if new.settings.on_delete == "retain":
            Construct(self, DELETION_PROTECTION)
        for log_group in self._log_groups():
            server.add_resource_dependency(log_group)
        self.endpoint = server.attr_endpoint_address
        self.port = server.attr_endpoint_port
        self.secret_arn = server.attr_master_user_secret_secret_arn
        self.identifier = server.ref

    def _subnets(self, subnet_ids: Sequence[str]) -> str:
        group = aws_rds.CfnDBSubnetGroup(
            self,
            "Subnets",
            db_subnet_group_description="Private subnets of the cluster",
            subnet_ids=list(subnet_ids),
        )
        self._keep(group)
        return group.ref

    def _security_group(self, vpc_id: str, client_group_ids: Sequence[str]) -> str:
        group = aws_ec2.CfnSecurityGroup(
            self,
            "Access",
            vpc_id=vpc_id,
            group_description="Database for job records: nodes of the cluster, nobody else",
            security_group_ingress=[
                aws_ec2.CfnSecurityGroup.IngressProperty(
                    ip_protocol="tcp",
                    from_port=self._database.port,
                    to_port=self._database.port,
                    source_security_group_id=client,
                    description="slurmdbd on the controller",
                )
                for client in client_group_ids
            ],
            security_group_egress=[NO_WAY_OUT],
        )
        self._keep(group)
        return group.attr_group_id

    def _parameters(self) -> str:
        version = self._new.settings.engine_version
        parameters = aws_rds.CfnDBParameterGroup(
            self,
            "Parameters",
            family=f"mariadb{version}",
            description=f"MariaDB {version} for slurmdbd",
            parameters=server_parameters(requires_tls=self._database.requires_tls),
        )
        self._keep(parameters)
        # The parameters of the previous version are unused once the server has new ones.
        parameters.cfn_options.update_replace_policy = CfnDeletionPolicy.DELETE
        return parameters.ref

    def _server(self, subnets: str, group_id: str, parameters: str) -> aws_rds.CfnDBInstance:
        settings = self._new.settings
        server = aws_rds.CfnDBInstance(
            self,
            "Server",
            db_instance_identifier=self._new.identifier,
            db_instance_class=settings.instance_class,
            engine="mariadb",
            engine_version=settings.engine_version,
            allow_major_version_upgrade=True,
            auto_minor_version_upgrade=True,
            db_parameter_group_name=parameters,
            db_name=self._database.name,
            port=str(self._database.port),
            master_username=self._database.user,
            manage_master_user_password=True,
            master_user_secret=_secret(self._key),
            allocated_storage=str(settings.storage_gib),
            max_allocated_storage=self._new.max_storage_gib,
            storage_type=STORAGE_TYPE,
            storage_encrypted=True,
            kms_key_id=self._key.key_arn if self._key else None,
            multi_az=settings.multi_az,
            db_subnet_group_name=subnets,
            vpc_security_groups=[group_id],
            publicly_accessible=False,
            backup_retention_period=settings.backup_retention_days,
            preferred_backup_window=settings.backup_window,
            preferred_maintenance_window=settings.maintenance_window,
            copy_tags_to_snapshot=True,
            delete_automated_backups=settings.on_delete == "delete",
            deletion_protection=settings.on_delete == "retain",
            enable_cloudwatch_logs_exports=list(LOGS),
        )
        apply_on_delete(server, settings.on_delete)
        Validations.of(server).acknowledge(
            Acknowledgment(
                id="CloudFormation-Validate::E9006",
                reason="RDS takes a major version alone and picks the minor one, which it keeps up "
                "to date; one written here would be older than what runs after its first update",
            )
        )
        return server

    def _log_groups(self) -> Iterator[CfnResource]:
        """Make the log groups for RDS: groups created by RDS would keep everything forever."""
        for log in LOGS:
            group = aws_logs.CfnLogGroup(
                self,
                f"{log.title()}Log",
                log_group_name=f"/aws/rds/instance/{self._new.identifier}/{log}",
                retention_in_days=LOG_RETENTION_DAYS,
                kms_key_id=self._key.key_arn if self._key else None,
            )
            self._keep(group)
            yield group

    def _keep(self, resource: CfnResource) -> None:
        """Retain the resources that a retained server needs."""
        on_delete: OnDelete = "retain" if self._new.settings.on_delete == "retain" else "delete"
        apply_on_delete(resource, on_delete)


def server_parameters(*, requires_tls: bool) -> dict[str, str]:
    """Return the parameters that differ from RDS's defaults.

    Slurm requires the long lock wait and the large packets (Slurm, Accounting and Resource Limits,
    MySQL Configuration); a server with a binary log, which RDS keeps for backups, needs the
    permission for slurmdbd's stored routines (MariaDB, Binary Logging of Stored Routines).
    """
    return {
        "innodb_lock_wait_timeout": "900",
        "log_bin_trust_function_creators": "1",
        "log_output": "FILE",
        "long_query_time": "10",
        "max_allowed_packet": str(64 * 1024 * 1024),
        "require_secure_transport": "1" if requires_tls else "0",
        "slow_query_log": "1",
    }


def _secret(key: aws_kms.IKey | None) -> aws_rds.CfnDBInstance.MasterUserSecretProperty | None:
    return aws_rds.CfnDBInstance.MasterUserSecretProperty(kms_key_id=key.key_arn) if key else None
