"""Notifications: topics, e-mail addresses, dashboards, budgets."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import suppressed
from slurmpod.preflight import names
from slurmpod.preflight.facts import Facts
from slurmpod.preflight.question import Question
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.problems import Severity
from slurmpod.resolve import Resolved
from slurmpod.resolve.environment import ENVIRONMENT_TAG
from slurmpod.rules.registry import Finding

SNS = "https://docs.aws.amazon.com/sns/latest/dg/sns-email-notifications.html"
GRAFANA = "https://docs.aws.amazon.com/grafana/latest/userguide/authentication-in-AMG-SSO.html"
ACTIVATING_TAGS = (
    "https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/activating-tags.html"
)
PENDING = "PendingConfirmation"


def _topics(clients: AwsClients, resolved: Resolved) -> dict[str, bool]:
    return {arn: _is_there(clients, arn) for arn in names.topics(resolved)}


def _is_there(clients: AwsClients, arn: str) -> bool:
    with suppressed("NotFound", "NotFoundException"):
        clients.sns.get_topic_attributes(TopicArn=arn)
        return True
    return False


TOPICS = Question(
    "topics",
    "topics",
    ("sns:GetTopicAttributes",),
    ("sns",),
    _topics,
    named=names.topics,
)


def _unconfirmed_emails(clients: AwsClients, resolved: Resolved) -> tuple[str, ...]:
    """Return the unconfirmed addresses of the environment's topics."""
    pages = clients.sns.get_paginator("list_subscriptions").paginate()
    found = [each for page in pages for each in page["Subscriptions"]]
    return tuple(
        each["Endpoint"]
        for each in found
        if each["SubscriptionArn"] == PENDING
        and each["TopicArn"].rpartition(":")[2].startswith(f"{resolved.name}-")
    )


UNCONFIRMED_EMAILS = Question(
    "unconfirmed_emails",
    "e-mail addresses",
    ("sns:ListSubscriptions",),
    ("sns",),
    _unconfirmed_emails,
    lambda resolved: resolved.monitoring is not None,
)


def _has_identity_center(clients: AwsClients, _: Resolved) -> bool:
    return bool(clients.sso.list_instances()["Instances"])


def _signs_in_with_identity_center(resolved: Resolved) -> bool:
    grafana = resolved.monitoring.grafana if resolved.monitoring else None
    return bool(grafana and grafana.sign_in == "sso")


HAS_IDENTITY_CENTER = Question(
    "has_identity_center",
    "IAM Identity Center",
    ("sso:ListInstances",),
    ("sso",),
    _has_identity_center,
    _signs_in_with_identity_center,
)


def _cost_tags(clients: AwsClients, _: Resolved) -> dict[str, str]:
    found = clients.cost_explorer.list_cost_allocation_tags(TagKeys=[ENVIRONMENT_TAG])
    return {each["TagKey"]: each["Status"] for each in found["CostAllocationTags"]}


COST_TAGS = Question(
    "cost_tags",
    "cost allocation tags",
    ("ce:ListCostAllocationTags",),
    ("cost_explorer",),
    _cost_tags,
    lambda resolved: resolved.budget is not None,
)


@PREFLIGHT.rule(
    "PRE-801",
    "Topics exist",
    why="A controller that takes over notifies an existing topic, which slurmpod does not create.",
    fix="correct the ARN, or create the topic",
    source=SNS,
)
def _topics_are_there(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    for arn, path in names.topics(resolved).items():
        if (facts[TOPICS] or {}).get(arn) is False:
            yield Finding(path, "there is no such topic")


@PREFLIGHT.rule(
    "PRE-802",
    "E-mail addresses are confirmed",
    why="SNS sends nothing to an address before its owner has followed the link in the first mail.",
    fix="have the owner follow the link; SNS sends a new one if the address is subscribed again",
    source=SNS,
    severity=Severity.WARNING,
)
def _emails_are_confirmed(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    waiting = set(facts[UNCONFIRMED_EMAILS] or ())
    notify = resolved.monitoring.notify if resolved.monitoring else None
    for severity in ("critical", "warning", "info") if notify else ():
        for index, email in enumerate(getattr(notify, severity).emails):
            if email in waiting:
                path = ("monitoring", "notify", severity, "emails", index)
                yield Finding(path, f"{email} is not confirmed")


@PREFLIGHT.rule(
    "PRE-803",
    "Dashboards have a sign-in",
    why="Amazon Managed Grafana with sign_in: sso needs IAM Identity Center in the organization. "
    "It may be in another Region, which is not checked.",
    fix="enable IAM Identity Center, or write sign_in: saml; suppress it if it is elsewhere",
    source=GRAFANA,
    severity=Severity.WARNING,
)
def _dashboards_have_a_sign_in(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    if facts[HAS_IDENTITY_CENTER] is False:
        path = ("monitoring", "grafana", "sign_in")
        yield Finding(path, f"{resolved.region} has no IAM Identity Center")


@PREFLIGHT.rule(
    "PRE-804",
    "The budget's tag is activated",
    why="A budget counts resources with the environment's tag, and nothing before the tag is "
    "activated in the Billing console of the paying account.",
    fix=f"activate {ENVIRONMENT_TAG} under Billing, Cost allocation tags, a day after the first "
    "deployment",
    source=ACTIVATING_TAGS,
    severity=Severity.WARNING,
)
def _tag_is_activated(_: Resolved, facts: Facts) -> Iterator[Finding]:
    tags = facts[COST_TAGS]
    if tags is not None and tags.get(ENVIRONMENT_TAG) != "Active":
        yield Finding(("budget",), f"the tag {ENVIRONMENT_TAG} is not activated", at_key=True)


QUESTIONS = (TOPICS, UNCONFIRMED_EMAILS, HAS_IDENTITY_CENTER, COST_TAGS)
