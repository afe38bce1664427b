"""The key that encrypts messages and logs: the user's own, or a new one."""

from __future__ import annotations

from collections.abc import Iterator

from aws_cdk import RemovalPolicy, aws_iam, aws_kms
from constructs import Construct

from slurmpod.resolve import Resolved
from slurmpod_cdk.encrypted_logs import logs_encrypt

CLUSTER_LOGS = "/aws/sagemaker/Clusters"
"""HyperPod writes what nodes log below it: /aws/sagemaker/Clusters/<name>/<id> (developer guide,
"SageMaker HyperPod cluster resiliency")."""


class MonitoringKey(Construct):
    """One key for topics, the cluster's logs and those of the function that counts nodes.

    It outlives its stack: the log group of a cluster stays when the cluster goes, and without the
    key nobody can read it.
    """

    def __init__(self, scope: Construct, id_: str, *, resolved: Resolved) -> None:
        super().__init__(scope, id_)
        monitoring = resolved.monitoring
        if monitoring and monitoring.kms_key_arn:
            self.key = aws_kms.Key.from_key_arn(self, "Key", monitoring.kms_key_arn)
            return
        key = aws_kms.Key(
            self,
            "Key",
            description=f"Messages and logs of the HyperPod cluster {resolved.name}",
            enable_key_rotation=True,
            removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
        )
        groups = (f"{CLUSTER_LOGS}/{resolved.name}/*", f"{resolved.name}-*")
        for statement in (*_publishers(resolved), logs_encrypt(resolved, "EncryptLogs", *groups)):
            key.add_to_resource_policy(statement)
        self.key = key


def _publishers(resolved: Resolved) -> Iterator[aws_iam.PolicyStatement]:
    """Let those services encrypt messages that publish them.

    EventBridge names no source when it asks for a data key: a condition on the account, which the
    others get, would drop every message without a word. It publishes with the permission of the
    topic's policy only to topics of its rule's account. Source: Amazon SNS developer guide, "Key
    management", compatibility with AWS services; AWS Budgets, "Creating an Amazon SNS topic".
    """
    actions = ["kms:Decrypt", "kms:GenerateDataKey*"]
    yield aws_iam.PolicyStatement(
        sid="EncryptEvents",
        principals=[aws_iam.ServicePrincipal("events.amazonaws.com")],
        actions=actions,
        resources=["*"],
    )
    services = ["budgets.amazonaws.com", "cloudwatch.amazonaws.com"]
    if resolved.monitoring and resolved.monitoring.prometheus:
        services.insert(0, "aps.amazonaws.com")
    yield aws_iam.PolicyStatement(
        sid="EncryptMessages",
        principals=[aws_iam.ServicePrincipal(service) for service in services],
        actions=actions,
        resources=["*"],
        conditions={"StringEquals": {"aws:SourceAccount": resolved.account}},
    )
