"""One SNS topic for each severity, and the key that encrypts their messages and the logs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from aws_cdk import RemovalPolicy, aws_iam, aws_kms, aws_sns
from constructs import Construct

from slurmpod.environment.monitoring import Subscribers
from slurmpod.resolve import Resolved
from slurmpod_cdk.log_groups import CLUSTER_LOGS, logs_encrypt
from slurmpod_cdk.monitoring.events import SEVERITIES


class SeverityTopics(Construct):
    """Encrypted topics that accept and deliver messages over TLS only; `arns` are by severity.

    Subscriptions are named after their targets: removing one does not affect the others, which need
    no new confirmation.
    """

    def __init__(
        self, scope: Construct, id_: str, *, resolved: Resolved, key: aws_kms.IKey
    ) -> None:
        super().__init__(scope, id_)
        assert resolved.monitoring  # noqa: S101  # the stack makes topics for it alone
        self.arns: dict[str, str] = {}
        for severity in SEVERITIES:
            topic = aws_sns.Topic(
                self,
                severity.title(),
                display_name=f"{resolved.name} {severity}",
                master_key=key,
                enforce_ssl=True,
            )
            for statement in _publishers(resolved, topic.topic_arn):
                topic.add_to_resource_policy(statement)
            subscribers: Subscribers = getattr(resolved.monitoring.notify, severity)
            for protocol, endpoint in _endpoints(subscribers):
                aws_sns.CfnSubscription(
                    topic,
                    f"{protocol}-{hashlib.sha256(endpoint.encode()).hexdigest()[:12]}",
                    topic_arn=topic.topic_arn,
                    protocol=protocol,
                    endpoint=endpoint,
                )
            self.arns[severity] = topic.topic_arn


def _endpoints(subscribers: Subscribers) -> Iterator[tuple[str, str]]:
    for address in subscribers.emails:
        yield "email", address
    for url in subscribers.https:
        yield "https", url


def _publishers(resolved: Resolved, topic_arn: str) -> Iterator[aws_iam.PolicyStatement]:
    """Allow alarms, budgets and events of this account to publish.

    EventBridge needs this policy and uses no role for a topic; its documentation lists no
    condition here. Source: EventBridge user guide, "Using resource-based policies"; AWS Budgets,
    "Creating an Amazon SNS topic for budget notifications".
    """
    yield aws_iam.PolicyStatement(
        sid="PublishEvents",
        principals=[aws_iam.ServicePrincipal("events.amazonaws.com")],
        actions=["sns:Publish"],
        resources=[topic_arn],
    )
    partition, account = resolved.aws_partition, resolved.account
    sources = {
        "cloudwatch": resolved.arn("cloudwatch", "alarm:*"),
        "budgets": f"arn:{partition}:budgets::{account}:*",
    }
    if resolved.monitoring and resolved.monitoring.prometheus:
        sources["aps"] = resolved.arn("aps", "workspace/*")
    for service, source in sources.items():
        yield aws_iam.PolicyStatement(
            sid=f"Publish{service.title()}",
            principals=[aws_iam.ServicePrincipal(f"{service}.amazonaws.com")],
            actions=["sns:GetTopicAttributes", "sns:Publish"],
            resources=[topic_arn],
            conditions={
                "StringEquals": {"aws:SourceAccount": account},
                "ArnLike": {"aws:SourceArn": source},
            },
        )


class MonitoringKey(Construct):
    """The user's key, or a new one.

    It encrypts topics, the cluster's logs and those of the function that counts nodes.

    It is retained: the log group of a cluster is kept when the cluster is deleted, and is
    unreadable without the key.
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
        for statement in (
            *_users_of_the_key(resolved),
            logs_encrypt(resolved, "EncryptLogs", *groups),
        ):
            key.add_to_resource_policy(statement)
        self.key = key


def _users_of_the_key(resolved: Resolved) -> Iterator[aws_iam.PolicyStatement]:
    """Allow the publishing services to encrypt messages.

    EventBridge passes no source when it requests a data key: a condition on the account, which the
    others have, would silently drop every message. With the permission of the topic's policy it
    publishes only to topics in its rule's account. Source: Amazon SNS developer guide, "Key
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
