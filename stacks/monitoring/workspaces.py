"""The workspaces for metrics: Prometheus, which stores them, and Grafana, which queries it."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import CfnOutput, RemovalPolicy, aws_aps, aws_grafana, aws_iam, aws_kms, aws_logs
from constructs import Construct

from slurmpod.metrics.prometheus import alert_manager_definition, rules_yaml
from slurmpod.resolve import Resolved
from slurmpod_cdk.log_groups import logs_encrypt
from slurmpod_cdk.retention import apply_on_delete

VENDED_LOGS = "/aws/vendedlogs"
"""Prefix of log groups to which services may write without a separate resource policy (Amazon
CloudWatch Logs user guide, "Logging that requires additional permissions")."""

RULES = "slurmpod"


class PrometheusWorkspace(Construct):
    """A workspace of Amazon Managed Service for Prometheus, which is retained like all data.

    Nodes may write to `arn`, at `remote_write_url`.
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
    """Make the log group for rules and alerts, which has no information beyond the metrics."""
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


SIGN_IN = {"sso": "AWS_SSO", "saml": "SAML"}
QUERY = (
    "aps:GetLabels",
    "aps:GetMetricMetadata",
    "aps:GetSeries",
    "aps:ListAlertManagerAlerts",
    "aps:ListRules",
    "aps:QueryMetrics",
)


class GrafanaWorkspace(Construct):
    """A workspace of Amazon Managed Grafana, which is retained with users' own dashboards.

    `slurmpod dashboards --push` adds data source and dashboards: CloudFormation supports neither.
    """

    def __init__(
        self, scope: Construct, id_: str, *, resolved: Resolved, workspace_arn: str
    ) -> None:
        super().__init__(scope, id_)
        assert resolved.monitoring  # noqa: S101  # the stack makes a workspace for it alone
        settings = resolved.monitoring.grafana
        assert settings  # noqa: S101
        role = _role(self, resolved, workspace_arn)
        workspace = aws_grafana.CfnWorkspace(
            self,
            "Workspace",
            name=resolved.name,
            description=f"Dashboards of the HyperPod cluster {resolved.name}",
            account_access_type="CURRENT_ACCOUNT",
            authentication_providers=[SIGN_IN[settings.sign_in]],
            data_sources=["PROMETHEUS"],
            grafana_version=settings.version,
            permission_type="CUSTOMER_MANAGED",
            plugin_admin_enabled=False,
            role_arn=role.role_arn,
        )
        apply_on_delete(workspace, "retain")
        for name, value, description in (
            ("GrafanaWorkspaceId", workspace.attr_id, "For slurmpod dashboards --push"),
            ("GrafanaEndpoint", workspace.attr_endpoint, "Where people sign in"),
        ):
            output = CfnOutput(self, name, value=value, description=description)
            output.override_logical_id(name)


def _role(scope: Construct, resolved: Resolved, workspace_arn: str) -> aws_iam.Role:
    """Allow Grafana to query only this workspace; retained as long as Grafana is.

    Source: Amazon Managed Grafana user guide, "Permissions and policies for AWS data sources".
    """
    statement = aws_iam.PolicyStatement(
        sid="QueryMetrics", actions=list(QUERY), resources=[workspace_arn]
    )
    principal = aws_iam.ServicePrincipal(
        "grafana.amazonaws.com",
        conditions={
            "StringEquals": {"aws:SourceAccount": resolved.account},
            "ArnLike": {"aws:SourceArn": resolved.arn("grafana", "/workspaces/*")},
        },
    )
    role = aws_iam.Role(
        scope,
        "Role",
        description=f"Grafana's access to the metrics of the HyperPod cluster {resolved.name}",
        assumed_by=principal,
        inline_policies={"Metrics": aws_iam.PolicyDocument(statements=[statement])},
    )
    resource = role.node.default_child
    if isinstance(resource, aws_iam.CfnRole):
        apply_on_delete(resource, "retain")
    return role
