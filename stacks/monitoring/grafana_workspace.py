"""The Grafana workspace with its sign-in, and the role by which it reads metrics."""

from __future__ import annotations

from aws_cdk import CfnOutput, aws_grafana, aws_iam
from constructs import Construct

from slurmpod.resolve import Resolved
from slurmpod_cdk.retention import apply_on_delete

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
    """A workspace of Amazon Managed Grafana; people's own dashboards in it outlive the stack.

    `slurmpod dashboards --push` brings data source and dashboards: CloudFormation knows neither.
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
    """Let Grafana ask this one workspace for metrics; it stays as long as Grafana does.

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
