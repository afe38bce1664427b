"""The workspace to which nodes send metrics, with its rules and its way to tell of alerts."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import CfnOutput, RemovalPolicy, aws_aps, aws_kms, aws_logs
from constructs import Construct

from slurmpod.metrics.prometheus import alert_manager_definition, rules_yaml
from slurmpod.resolve import Resolved
from slurmpod_cdk.encrypted_logs import logs_encrypt
from slurmpod_cdk.retention import apply_on_delete

VENDED_LOGS = "/aws/vendedlogs"
"""Where services may write without a resource policy for each log group (Amazon CloudWatch Logs
user guide, "Logging that requires additional permissions")."""

RULES = "slurmpod"


class PrometheusWorkspace(Construct):
    """A workspace of Amazon Managed Service for Prometheus; it outlives its stack, as data do.

    `arn` is what nodes may write to, `remote_write_url` is where.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        resolved: Resolved,
        topic_arns: Mapping[str, str],
        key: aws_kms.IKey,
    ) -> None:
        super().__init__(scope, id_)
        assert resolved.monitoring  # noqa: S101  # the stack makes a workspace for it alone
        settings = resolved.monitoring.prometheus
        assert settings  # noqa: S101
        logs = _log_group(self, resolved, key)
        workspace = aws_aps.CfnWorkspace(
            self,
            "Workspace",
            alias=resolved.name,
            alert_manager_definition=alert_manager_definition(
                resolved.name, resolved.region, topic_arns
            ),
            kms_key_arn=settings.kms_key_arn,
            logging_configuration=aws_aps.CfnWorkspace.LoggingConfigurationProperty(
                log_group_arn=logs.log_group_arn
            ),
            workspace_configuration=aws_aps.CfnWorkspace.WorkspaceConfigurationProperty(
                retention_period_in_days=settings.retention_days
            ),
        )
        apply_on_delete(workspace, "retain")
        aws_aps.CfnRuleGroupsNamespace(
            self, "Rules", name=RULES, workspace=workspace.attr_arn, data=rules_yaml()
        )
        self.arn = workspace.attr_arn
        self.remote_write_url = f"{workspace.attr_prometheus_endpoint}api/v1/remote_write"
        CfnOutput(
            self,
            "PrometheusEndpoint",
            value=workspace.attr_prometheus_endpoint,
            description="Where the metrics of the nodes are",
        ).override_logical_id("PrometheusEndpoint")


def _log_group(scope: Construct, resolved: Resolved, key: aws_kms.IKey) -> aws_logs.LogGroup:
    """Make the group for what rules and alerts report; it says nothing that metrics do not."""
    name = f"{VENDED_LOGS}/prometheus/{resolved.name}"
    key.add_to_resource_policy(logs_encrypt(resolved, "EncryptPrometheusLogs", name))
    group = aws_logs.LogGroup(
        scope,
        "Logs",
        log_group_name=name,
        encryption_key=key,
        removal_policy=RemovalPolicy.DESTROY,
    )
    resource = group.node.default_child
    if isinstance(resource, aws_logs.CfnLogGroup) and resolved.monitoring:
        resource.retention_in_days = resolved.monitoring.log_retention_days
    return group
