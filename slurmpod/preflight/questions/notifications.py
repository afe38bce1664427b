"""Questions about what tells people."""

from __future__ import annotations

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import suppressed
from slurmpod.preflight import names
from slurmpod.preflight.questions.question import Question
from slurmpod.resolve import Resolved
from slurmpod.resolve.environment import ENVIRONMENT_TAG

PENDING = "PendingConfirmation"


def _topics(clients: AwsClients, resolved: Resolved) -> dict[str, bool]:
    return {arn: _is_there(clients, arn) for arn in names.topics(resolved)}


def _is_there(clients: AwsClients, arn: str) -> bool:
    with suppressed("NotFound", "NotFoundException"):
        clients.sns.get_topic_attributes(TopicArn=arn)
        return True
    return False


def _unconfirmed_emails(clients: AwsClients, resolved: Resolved) -> tuple[str, ...]:
    """Return the addresses that wait at topics of the environment."""
    pages = clients.sns.get_paginator("list_subscriptions").paginate()
    found = [each for page in pages for each in page["Subscriptions"]]
    return tuple(
        each["Endpoint"]
        for each in found
        if each["SubscriptionArn"] == PENDING
        and each["TopicArn"].rpartition(":")[2].startswith(f"{resolved.name}-")
    )


def _has_identity_center(clients: AwsClients, _: Resolved) -> bool:
    return bool(clients.sso.list_instances()["Instances"])


def _signs_in_with_identity_center(resolved: Resolved) -> bool:
    grafana = resolved.monitoring.grafana if resolved.monitoring else None
    return bool(grafana and grafana.sign_in == "sso")


def _cost_tags(clients: AwsClients, _: Resolved) -> dict[str, str]:
    found = clients.cost_explorer.list_cost_allocation_tags(TagKeys=[ENVIRONMENT_TAG])
    return {each["TagKey"]: each["Status"] for each in found["CostAllocationTags"]}


QUESTIONS = (
    Question(
        "topics",
        "topics",
        ("sns:GetTopicAttributes",),
        ("sns",),
        _topics,
        lambda resolved: bool(names.topics(resolved)),
    ),
    Question(
        "unconfirmed_emails",
        "e-mail addresses",
        ("sns:ListSubscriptions",),
        ("sns",),
        _unconfirmed_emails,
        lambda resolved: resolved.monitoring is not None,
    ),
    Question(
        "has_identity_center",
        "IAM Identity Center",
        ("sso:ListInstances",),
        ("sso",),
        _has_identity_center,
        _signs_in_with_identity_center,
    ),
    Question(
        "cost_tags",
        "cost allocation tags",
        ("ce:ListCostAllocationTags",),
        ("cost_explorer",),
        _cost_tags,
        lambda resolved: resolved.budget is not None,
    ),
)
