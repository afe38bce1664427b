"""Rules for the budget."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.environment.facts import fact
from slurmpod.problems import Severity
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import LIFECYCLE_MODE, PRIVATE_SUBNETS, Area, Finding
from slurmpod.rules.shared_findings import values_listed_twice

BUDGET = Area("BUD", "Budget", reads=("budget",))

NOTIFICATION = (
    "https://docs.aws.amazon.com/aws-cost-management/latest/APIReference/"
    "API_budgets_CreateNotification.html"
)
SUBSCRIBERS = (
    "https://docs.aws.amazon.com/aws-cost-management/latest/APIReference/"
    "API_budgets_NotificationWithSubscribers.html"
)
CREATING = "https://docs.aws.amazon.com/cost-management/latest/userguide/budgets-create.html"
RESOURCE_TYPES = (
    "https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/resource-type-schemas.html"
)

WITHOUT_BUDGETS = fact("regions.without_budgets")
"""Regions with HyperPod whose CloudFormation has no AWS::Budgets::Budget."""


@BUDGET.rule(
    "BUD-001",
    "Every part of the budget is listed once",
    why="A budget has one notification for each threshold; a second one is refused as a duplicate.",
    fix="remove one of the two",
    source=NOTIFICATION,
)
def _parts_are_listed_once(resolved: Resolved) -> Iterator[Finding]:
    if resolved.budget:
        yield from values_listed_twice(resolved.budget.actual_percent, "budget", "actual_percent")


@BUDGET.rule(
    "BUD-002",
    "The parts of the budget rise",
    why="Mails come in the order of the parts. In another order a reader takes the last one for "
    "the highest.",
    fix="write them from the lowest to the highest",
    source=CREATING,
    severity=Severity.WARNING,
)
def _parts_rise(resolved: Resolved) -> Iterator[Finding]:
    parts = resolved.budget.actual_percent if resolved.budget else ()
    for index in range(1, len(parts)):
        if parts[index] < parts[index - 1]:
            place = ("budget", "actual_percent", index)
            yield Finding(place, f"{parts[index]} comes after {parts[index - 1]}")


@BUDGET.rule(
    "BUD-003",
    "The budget has a recipient",
    why="A budget limits nothing. Without a threshold it also notifies no one.",
    fix="write a part under 'actual_percent', or 'forecast_percent'",
    source=CREATING,
)
def _somebody_is_told(resolved: Resolved) -> Iterator[Finding]:
    budget = resolved.budget
    if budget and not budget.actual_percent and budget.forecast_percent is None:
        message = "it has neither actual_percent nor forecast_percent"
        yield Finding(("budget",), message, at_key=True)


@BUDGET.rule(
    "BUD-004",
    "Every address of the budget is listed once",
    why="A notification takes an address once; a second one is refused as a duplicate.",
    fix="remove one of the two",
    source=SUBSCRIBERS,
)
def _addresses_are_listed_once(resolved: Resolved) -> Iterator[Finding]:
    if resolved.budget:
        emails = [address.lower() for address in resolved.budget.emails]
        yield from values_listed_twice(emails, "budget", "emails")


@BUDGET.rule(
    "BUD-005",
    "CloudFormation of the Region can make budgets",
    why="Budgets are the same everywhere, but CloudFormation makes them in some Regions only; in "
    f"the others the stack is refused. The list is from {WITHOUT_BUDGETS.when}.",
    fix="remove the section, and make the budget in the console, filtered by the tag "
    "slurmpod:environment; suppress it if AWS has added the Region since",
    source=RESOURCE_TYPES,
    severity=Severity.WARNING,
    reads=("budget", "region"),
)
def _budgets_are_in_the_region(resolved: Resolved) -> Iterator[Finding]:
    region = resolved.region
    if resolved.budget and region in WITHOUT_BUDGETS.values:
        when = WITHOUT_BUDGETS.when
        message = f"CloudFormation had no AWS::Budgets::Budget in {region} (as of {when})"
        yield Finding(("budget",), message, at_key=True)


@BUDGET.rule(
    "BUD-006",
    "The budget lasts for more than a day",
    why="Mails about a budget that is spent within a day come after the money: AWS updates what it "
    "knows of costs a few times a day. The prices are those of 'slurmpod plan', with all nodes on.",
    fix="write what a month of this environment may cost; 'slurmpod plan' says what it does cost",
    source="https://docs.aws.amazon.com/cost-management/latest/userguide/budgets-managing-costs.html",
    severity=Severity.WARNING,
    reads=("budget", "region", *PRIVATE_SUBNETS, *LIFECYCLE_MODE),
)
def _lasts_for_a_day(resolved: Resolved) -> Iterator[Finding]:
    if not resolved.budget:
        return
    from slurmpod.plan.costs import costs, total  # a budget is seldom, and prices are many
    from slurmpod.plan.prices import bundled_prices

    known = total(costs(resolved, bundled_prices(resolved.region)))
    budget = resolved.budget.monthly_usd
    if known.usd_per_day > budget:
        hours = budget / float(known.usd_per_hour)
        message = (
            f"{budget:,} USD last {hours:.1f} hours: "
            f"with all nodes on it costs {known.usd_per_hour:,.2f} USD an hour"
        )
        yield Finding(("budget", "monthly_usd"), message)
