"""The cluster watch stack: alarms and rules that need the cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from aws_cdk import Acknowledgment, CfnResource, Validations, aws_iam, aws_kms, custom_resources
from constructs import Construct

from slurmpod.environment.monitoring import Observability
from slurmpod.resolve import Resolved
from slurmpod_cdk.cluster.stack import ClusterStack
from slurmpod_cdk.cluster_watch.alarms import ClusterAlarms, LogFilters
from slurmpod_cdk.cluster_watch.node_count import NodeCount
from slurmpod_cdk.environment_stack import EnvironmentStack
from slurmpod_cdk.monitoring.stack import Watching


def cluster_watch_of(
    scope: Construct, resolved: Resolved, cluster: ClusterStack, watching: Watching | None
) -> ClusterWatchStack | None:
    """Make the monitoring of nodes and their logs if the environment has any, else return None."""
    if resolved.stacks.cluster_watch is None or watching is None or watching.key_arn is None:
        return None
    return ClusterWatchStack(
        scope,
        resolved.stacks.cluster_watch,
        resolved=resolved,
        cluster=cluster,
        watching=watching,
        key_arn=watching.key_arn,
    )


class ClusterWatchStack(EnvironmentStack):
    """Settings and filters of the cluster's logs, node count and alarms, HyperPod's collector.

    A separate stack: CloudFormation rolls a stack back as a whole, and a log group that cannot be
    encrypted must not delete a cluster that took an hour to create.
    """

    def __init__(
        self,
        scope: Construct,
        stack_name: str,
        *,
        resolved: Resolved,
        cluster: ClusterStack,
        watching: Watching,
        key_arn: str,
    ) -> None:
        super().__init__(
            scope,
            stack_name,
            resolved=resolved,
            description=f"Logs and node alarms of the HyperPod cluster {resolved.name}",
        )
        log_group = cluster.log_group_name
        logs = ClusterLogs(self, "Logs", resolved=resolved, name=log_group, key_arn=key_arn)
        filters = LogFilters(self, "Filters", resolved=resolved, log_group_name=log_group)
        filters.node.add_dependency(logs)
        counting = NodeCount(
            self,
            "NodeCount",
            cluster_name=resolved.name,
            cluster_arn=cluster.cluster_arn,
            key=aws_kms.Key.from_key_arn(self, "Key", key_arn),
        )
        ClusterAlarms(
            self,
            "Alarms",
            resolved=resolved,
            counting=counting.function,
            topic_arns=watching.topic_arns,
        )
        if resolved.monitoring and resolved.monitoring.observability:
            ObservabilityExtension(
                self,
                "Observability",
                settings=resolved.monitoring.observability,
                cluster_arn=cluster.cluster_arn,
                tags=resolved.tags,
            )


class ClusterLogs(Construct):
    """Settings of the log group `name`, which HyperPod creates: retention, encryption, tags.

    CloudFormation cannot change a log group that a service has created; the CDK's function calls
    the API instead.

    Nothing is undone when the construct is removed: the logs are needed afterwards, and stay
    encrypted. If no node has written yet, for example in a cluster without scripts, the group is
    created.
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


NAME = "sagemaker-observability"


class ObservabilityExtension(Construct):
    """HyperPod's metrics collector: the extension that it installs on every node.

    It is a generic resource: the pinned CDK has no construct for AWS::SageMaker::Extension yet. The
    CDK does not tag generic resources, so the tags are among its properties.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        settings: Observability,
        cluster_arn: str,
        tags: Mapping[str, str],
    ) -> None:
        super().__init__(scope, id_)
        version = {"ExtensionVersion": settings.version} if settings.version else {}
        extension = CfnResource(
            self,
            "Extension",
            type="AWS::SageMaker::Extension",
            properties={
                "ClusterArn": cluster_arn,
                "ExtensionName": NAME,
                **version,
                "ConfigurationValues": json.dumps(_configuration(settings)),
                "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
            },
        )
        Validations.of(extension).acknowledge(
            Acknowledgment(
                id="CloudFormation-Validate::F3006",
                reason="its list of resource types ends with the pinned version of the CDK, which "
                "came before this one",
            )
        )


def _configuration(settings: Observability) -> Mapping[str, Any]:
    """Return all our settings in HyperPod's spelling: an update keeps omitted settings.

    Source: developer guide, "Observability extension configuration".
    """
    metrics = {
        "nodeMetrics": {"level": settings.node_metrics},
        "ncclMetrics": {"level": "ENABLED" if settings.nccl_metrics else "DISABLED"},
    }
    url = settings.remote_write_url
    return {
        **({"prometheus": {"remoteWriteUrl": url}} if url else {}),
        "metricsProvider": metrics,
    }
