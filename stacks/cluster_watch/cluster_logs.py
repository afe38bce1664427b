"""The log group that HyperPod makes for a cluster: its retention, its encryption, its tags.

CloudFormation cannot change a log group that a service has made; the CDK's own function calls the
API instead.
"""

from __future__ import annotations

from typing import Any

from aws_cdk import aws_iam, custom_resources
from constructs import Construct

from slurmpod.resolve import Resolved


class ClusterLogs(Construct):
    """Settings of the log group `name`.

    Nothing is undone when the construct goes: logs tell what happened, and stay encrypted. Where no
    node has written yet, as may be in a cluster without scripts, the group is made.
    """

    def __init__(
        self, scope: Construct, id_: str, *, resolved: Resolved, name: str, key_arn: str
    ) -> None:
        super().__init__(scope, id_)
        assert resolved.monitoring  # noqa: S101  # the stack is made for it alone
        arn = resolved.arn("logs", f"log-group:{name}")
        group = {"logGroupName": name}
        days = resolved.monitoring.log_retention_days
        calls: tuple[tuple[str, str, dict[str, Any], str], ...] = (
            ("Exists", "CreateLogGroup", group, f"{arn}:*"),
            ("Retention", "PutRetentionPolicy", {**group, "retentionInDays": days}, f"{arn}:*"),
            ("Encryption", "AssociateKmsKey", {**group, "kmsKeyId": key_arn}, f"{arn}:*"),
            ("Tags", "TagResource", {"resourceArn": arn, "tags": dict(resolved.tags)}, arn),
        )
        before: Construct | None = None
        for setting, action, parameters, resource in calls:
            call = _call(self, setting, action, parameters, [_may(f"logs:{action}", resource)])
            if before:
                call.node.add_dependency(before)
            before = call


def _call(
    scope: Construct,
    id_: str,
    action: str,
    parameters: dict[str, Any],
    statements: list[aws_iam.PolicyStatement],
) -> custom_resources.AwsCustomResource:
    return custom_resources.AwsCustomResource(
        scope,
        id_,
        resource_type="Custom::ClusterLogs",
        install_latest_aws_sdk=False,
        on_update=custom_resources.AwsSdkCall(
            service="cloudwatch-logs",
            action=action,
            parameters=parameters,
            physical_resource_id=custom_resources.PhysicalResourceId.of(id_),
            ignore_error_codes_matching="ResourceAlreadyExistsException",
        ),
        policy=custom_resources.AwsCustomResourcePolicy.from_statements(statements),
    )


def _may(action: str, resource: str) -> aws_iam.PolicyStatement:
    return aws_iam.PolicyStatement(actions=[action], resources=[resource])
