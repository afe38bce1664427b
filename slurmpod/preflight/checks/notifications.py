"""Checks of what tells people: topics, e-mail addresses, dashboards, budgets."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.preflight import names
from slurmpod.preflight.facts import Facts
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.problems import Severity
from slurmpod.resolve import Resolved
from slurmpod.resolve.environment import ENVIRONMENT_TAG
from slurmpod.rules.registry import Finding

SNS = "https://docs.aws.amazon.com/sns/latest/dg/sns-email-notifications.html"
GRAFANA = "https://docs.aws.amazon.com/grafana/latest/userguide/authentication-in-AMG-SSO.html"
COST_TAGS = "https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/activating-tags.html"


@PREFLIGHT.rule(
    "PRE-801",
    "Topics are there",
    why="A controller that takes over tells a topic that somebody else made.",
    fix="correct the ARN, or make the topic",
    source=SNS,
)
def _topics_are_there(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    for arn, path in names.topics(resolved).items():
        if (facts.topics or {}).get(arn) is False:
            yield Finding(path, "there is no such topic")


@PREFLIGHT.rule(
    "PRE-802",
    "E-mail addresses are confirmed",
    why="SNS sends nothing to an address before its owner has followed the link in the first mail.",
    fix="have the link followed; SNS sends it again when the address is subscribed anew",
    source=SNS,
    severity=Severity.WARNING,
)
def _emails_are_confirmed(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    waiting = set(facts.unconfirmed_emails or ())
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
    "It may be in another Region, which is not seen from here.",
    fix="enable IAM Identity Center, or write sign_in: saml; suppress it if it is elsewhere",
    source=GRAFANA,
    severity=Severity.WARNING,
)
def _dashboards_have_a_sign_in(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    if facts.has_identity_center is False:
        path = ("monitoring", "grafana", "sign_in")
        yield Finding(path, f"{resolved.region} has no IAM Identity Center")


@PREFLIGHT.rule(
    "PRE-804",
    "The budget's tag is activated",
    why="A budget counts what has the environment's tag, and counts nothing before the tag is "
    "activated in Billing of the account that pays.",
    fix=f"activate {ENVIRONMENT_TAG} under Billing, Cost allocation tags, a day after the first "
    "deployment",
    source=COST_TAGS,
    severity=Severity.WARNING,
)
def _tag_is_activated(_: Resolved, facts: Facts) -> Iterator[Finding]:
    if facts.cost_tags is not None and facts.cost_tags.get(ENVIRONMENT_TAG) != "Active":
        yield Finding(("budget",), f"the tag {ENVIRONMENT_TAG} is not activated", at_key=True)
