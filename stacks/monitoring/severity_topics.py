"""One SNS topic for each severity, with the subscribers that the environment names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from aws_cdk import aws_iam, aws_kms, aws_sns
from constructs import Construct

from slurmpod.environment.monitoring import Subscribers
from slurmpod.resolve import Resolved
from slurmpod_cdk.monitoring.cluster_events import SEVERITIES


class SeverityTopics(Construct):
    """Encrypted topics that take and give messages by TLS only; `arns` go by severity.

    Subscriptions are named after what they send to: one that goes leaves the others alone, and
    nobody has to confirm again.
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
    """Let alarms, budgets and events of this account be published.

    EventBridge needs this policy and takes no role for a topic; its documentation knows no
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
