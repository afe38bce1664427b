"""Checks of zones, of instance types in them, and of training plans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

from slurmpod.preflight.facts import Facts, TrainingPlan
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.problems import Severity, YamlPath
from slurmpod.resolve import Resolved, ResolvedGroup
from slurmpod.rules.groups import API, GUIDE, named_types
from slurmpod.rules.partitions import seconds
from slurmpod.rules.registry import Finding

ZONES = "https://docs.aws.amazon.com/global-infrastructure/latest/regions/az-ids.html"
OFFERINGS = (
    "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceTypeOfferings.html"
)
PLAN = f"{API}API_DescribeTrainingPlan.html"
PLANS_FOR_HYPERPOD = f"{GUIDE}use-training-plan-for-hyperpod-clusters.html"

PLANS_FOR_TRAINING = f"{GUIDE}training-plan-utilization-for-training-jobs.html"

USABLE = ("Active", "Scheduled")
END_BEGINS = timedelta(minutes=30)
"""So long before its end a plan begins to lose its nodes (developer guide, "Training plans
utilization for SageMaker training jobs", "Reserved Capacity termination process")."""
FORESEEN = timedelta(days=30)
"""So long before the end of a plan jobs without a time limit are told of."""
LAST_DAYS = 7
"""A plan that ends so soon hardly pays for a deployment."""


@PREFLIGHT.rule(
    "PRE-201",
    "The account has the zones",
    why="Which zones a Region shows, and what their names mean, differs from account to account.",
    fix="write one of the zones that the account has",
    source=ZONES,
)
def _zones_are_there(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    if facts.zones is None:
        return
    names = {each.name for each in facts.zones} | {each.id for each in facts.zones}
    known = ", ".join(f"{each.name} ({each.id})" for each in facts.zones)
    for zone, path in _zones(resolved):
        if zone not in names:
            yield Finding(path, f"the account has no zone {zone}", f"write one of {known}")
    for each in facts.zones:
        for zone, path in _zones(resolved):
            if zone in (each.name, each.id) and each.state != "available":
                yield Finding(path, f"the zone {zone} is {each.state}")


def _zones(resolved: Resolved) -> Iterator[tuple[str, YamlPath]]:
    network = resolved.environment.network
    yield network.zone, ("network", "zone")
    for index, other in enumerate(network.other_zones):
        yield other.zone, ("network", "other_zones", index, "zone")
    for group in resolved.groups:
        if group.settings.zone:
            yield group.zone, (*group.path, "zone")


@PREFLIGHT.rule(
    "PRE-202",
    "EC2 offers the types in their zones",
    why="EC2's own list for this account, as of now. Where it does not offer a type, HyperPod "
    "cannot start it.",
    fix="place the group in a zone that offers the type; suppress it if AWS has promised the "
    "capacity",
    source=OFFERINGS,
    severity=Severity.WARNING,
)
def _types_are_offered(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    for group in resolved.groups if facts.zones else ():
        zone = facts.zone_id(group.zone)
        for name, path in named_types(group):
            offered = (facts.offerings or {}).get(name)
            if offered is not None and zone not in offered:
                where = f"it is offered in {', '.join(offered)}" if offered else ""
                message = f"EC2 offers no {name} in {group.zone} ({zone})"
                yield Finding(path, message, where)


@PREFLIGHT.rule(
    "PRE-211",
    "Training plans can be used",
    why="HyperPod takes instances only from a plan for HyperPod that was paid and has not ended.",
    fix="write the ARN of a plan for HyperPod that is Active or Scheduled "
    "(`slurmpod capacity show`)",
    source=PLAN,
)
def _plans_can_be_used(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    for group, arn, path in _users(resolved):
        plans = facts.training_plans or {}
        plan = plans.get(arn)
        if arn in plans and plan is None:
            yield Finding(path, "the account has no such training plan")
        if plan and plan.status not in USABLE:
            yield Finding(path, f"the plan of '{group.name}' is {plan.status}")
        if plan and "hyperpod-cluster" not in plan.targets:
            yield Finding(path, f"the plan is for {', '.join(plan.targets)}, not for HyperPod")


@PREFLIGHT.rule(
    "PRE-212",
    "Training plans have the group's type and zone",
    why="A plan reserves one type in one zone; HyperPod refuses a group that asks for another.",
    fix="write type and zone of the plan, or another plan",
    source=PLANS_FOR_HYPERPOD,
)
def _plans_fit_groups(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    for group, path, plan in _plans(resolved, facts):
        if plan.instance_type != group.instance_type:
            yield Finding(path, f"the plan has {plan.instance_type}, not {group.instance_type}")
        if facts.zones and plan.zone and facts.zone_id(plan.zone) != facts.zone_id(group.zone):
            message = f"the plan lies in {plan.zone} ({facts.zone_id(plan.zone)}), not {group.zone}"
            yield Finding(path, message)


@PREFLIGHT.rule(
    "PRE-213",
    "Training plans have enough instances",
    why="Groups of all clusters share what a plan has; HyperPod refuses what is beyond it.",
    fix="take fewer nodes, or another plan",
    source=PLANS_FOR_HYPERPOD,
)
def _plans_suffice(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    used = Counter[str]()
    for cluster in facts.clusters or ():
        if cluster.name != resolved.name:
            used.update(cluster.of_plans)
    for group, path, plan in _plans(resolved, facts):
        arn = group.settings.training_plan_arn or ""
        used[arn] += group.count
        if used[arn] > plan.instances:
            message = f"the plan has {plan.instances} instances; {used[arn]} are needed"
            yield Finding(path, message)


@PREFLIGHT.rule(
    "PRE-214",
    "Training plans hold now",
    why="Before a plan begins its nodes do not start; 30 minutes before it ends AWS begins to take "
    "them away, with the jobs that run there.",
    fix="deploy when it begins, or buy more time (`slurmpod capacity extend`); suppress it if "
    "that is meant",
    source=PLANS_FOR_HYPERPOD,
    severity=Severity.WARNING,
)
def _plans_hold_now(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    for group, path, plan in _plans(resolved, facts):
        if plan.starts and plan.starts > facts.taken_at:
            yield Finding(
                path, f"nodes of '{group.name}' start from {plan.starts:%Y-%m-%d %H:%M} on"
            )
        if plan.ends and facts.taken_at < plan.ends < facts.taken_at + timedelta(days=LAST_DAYS):
            lasts = plan.ends - END_BEGINS
            yield Finding(
                path, f"nodes of '{group.name}', and jobs there, end on {lasts:%Y-%m-%d %H:%M}"
            )


@PREFLIGHT.rule(
    "PRE-215",
    "Jobs end before their training plan does",
    why="Slurm knows nothing of the end of a plan: it starts jobs that run beyond it, and 30 "
    "minutes before the end their nodes go. What came after the last checkpoint is lost.",
    fix="give the partition a max_time below slurm.partitions that is shorter than what is left, "
    "or buy more time (`slurmpod capacity extend`); suppress it if jobs save checkpoints",
    source=PLANS_FOR_TRAINING,
    severity=Severity.WARNING,
)
def _jobs_end_before_plans(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    limits = {each.name: seconds(each.max_time) for each in resolved.slurm.partitions}
    for group, path, plan in _plans(resolved, facts):
        if plan.ends is None or not group.partition:
            continue
        left = plan.ends - END_BEGINS - facts.taken_at
        limit = limits.get(group.partition)
        longest = timedelta(seconds=limit) if limit else FORESEEN
        if timedelta() < left < longest:
            may_run = f"for {longest}" if limit else "without a limit"
            message = (
                f"jobs in {group.partition} may run {may_run}; nodes of '{group.name}' end in "
                f"{left.days} days"
            )
            yield Finding(path, message)


def _plans(
    resolved: Resolved, facts: Facts
) -> Iterator[tuple[ResolvedGroup, YamlPath, TrainingPlan]]:
    for group, arn, path in _users(resolved):
        plan = (facts.training_plans or {}).get(arn)
        if plan and plan.status in USABLE:
            yield group, path, plan


def _users(resolved: Resolved) -> Iterator[tuple[ResolvedGroup, str, YamlPath]]:
    for group in resolved.groups:
        if arn := group.settings.training_plan_arn:
            yield group, arn, (*group.path, "training_plan_arn")
