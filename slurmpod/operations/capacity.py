"""Training plans for the groups of an environment: searches, and their results. Pure.

Sources: SageMaker developer guide, "Training plans extension" (by how many days), "Training plans
utilization for SageMaker training jobs" (what happens before the end), "View training plan details"
(statuses, parts).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation

from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.training_plans import Offer, Plan
from slurmpod.environment.catalog import TYPES_OF_PLANS, ULTRASERVERS
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.resolve import Resolved, ResolvedGroup

MOST_SINGLE_DAYS = 14
WEEK_DAYS, MOST_DAYS = 7, 182
MINUTES_BEFORE_THE_END = 30

AT_THE_END = (
    f"AWS begins to reclaim the nodes, with their running jobs, {MINUTES_BEFORE_THE_END} minutes "
    "before the end"
)


def type_of_plan(group: ResolvedGroup) -> str:
    """Return the instance type to reserve; raises AwsUnavailable if no plan can have it."""
    kinds = group.instance_types
    if len(kinds) != 1:
        raise AwsUnavailable(f"{group.name} names {len(kinds)} types; a training plan has one")
    if kinds[0] not in TYPES_OF_PLANS:
        known = ", ".join(sorted(TYPES_OF_PLANS))
        raise AwsUnavailable(f"training plans have no {kinds[0]} ({group.name}); they have {known}")
    return kinds[0]


def servers_of(kind: str, nodes: int) -> Mapping[str, int]:
    """Return the UltraServers with a type, and how many of each have exactly this many nodes.

    Most types have none. Raises AwsUnavailable for a number of nodes that they cannot make up.
    """
    sizes = ULTRASERVERS.get(kind, {})
    fitting = {name: nodes // size for name, size in sizes.items() if nodes % size == 0}
    if sizes and not fitting:
        whole = " or ".join(f"{size} ({name})" for name, size in sizes.items())
        raise AwsUnavailable(
            f"{kind} is sold in UltraServers of {whole} nodes, which cannot make up {nodes}"
        )
    return fitting


def why_not_so_many_days(days: int) -> str:
    """Return why a plan cannot be extended by this many days; empty if it can."""
    if days <= MOST_SINGLE_DAYS or (days % WEEK_DAYS == 0 and days <= MOST_DAYS):
        return ""
    return (
        f"a plan is extended by 1 to {MOST_SINGLE_DAYS} days, or by whole weeks up to {MOST_DAYS} "
        "days"
    )


def plan_named(plans: Sequence[Plan], resolved: Resolved, name: str) -> Plan:
    """Return the plan with this name, or of this group; raises AwsUnavailable."""
    arns = {group.name: group.settings.training_plan_arn for group in resolved.groups}
    wanted = arns.get(name)
    for plan in plans:
        if name == plan.name or (wanted and plan.arn == wanted):
            return plan
    known = [plan.name for plan in plans]
    guess = did_you_mean(name, known) or f"there are {', '.join(known) or 'none'}"
    raise AwsUnavailable(f"there is no training plan {name}; {guess}")


def offer_of(offers: Sequence[Offer], id_: str) -> Offer:
    """Return an offer by id; raises AwsUnavailable if it is gone."""
    for offer in offers:
        if offer.id == id_:
            return offer
    raise AwsUnavailable(
        f"{id_} is not offered (any more): search again, with the same nodes and dates"
    )


def groups_of(plan: Plan, resolved: Resolved) -> tuple[str, ...]:
    """Return the groups of the environment that use a plan."""
    return tuple(
        group.name for group in resolved.groups if group.settings.training_plan_arn == plan.arn
    )


def remaining(plan: Plan, now: datetime) -> str:
    """Return the remaining time of a plan, in words."""
    if plan.starts and plan.starts > now:
        return f"begins in {_days(plan.starts, now)}"
    if plan.ends is None:
        return "its end is not known"
    return f"{_days(plan.ends, now)} left" if plan.ends > now else "it has ended"


def notes_on(offer: Offer, group: ResolvedGroup, zone_name: str) -> Iterator[str]:
    """Yield drawbacks of an offer for a group."""
    zones = sorted({part.zone for part in offer.parts})
    if zone_name and zones != [zone_name]:
        yield f"not in the zone of {group.name} ({zone_name})"
    if len(offer.parts) > 1:
        yield f"in {len(offer.parts)} parts, without nodes between them"


def is_sum(typed: str, amount: Decimal) -> bool:
    """Return whether a text is this amount, with or without thousands separators."""
    try:
        return Decimal(typed.strip().replace(",", "")) == amount
    except InvalidOperation:
        return False


def moment_text(moment: datetime | None) -> str:
    """Return a time for people."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}" if moment else "?"


def _days(moment: datetime, now: datetime) -> str:
    hours = int((moment - now).total_seconds() // 3600)
    return f"{hours // 24} days" if hours >= 48 else f"{hours} hours"
