"""Training plans: their reserved capacity, end and quotas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import suppressed
from slurmpod.preflight import names
from slurmpod.preflight.facts import Facts
from slurmpod.preflight.question import Question
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.preflight.subjects.clusters import CLUSTERS
from slurmpod.preflight.subjects.quotas import INCREASE, quota_of
from slurmpod.preflight.subjects.zones import ZONES, zone_id
from slurmpod.problems import Severity, YamlPath
from slurmpod.resolve import Resolved, ResolvedGroup
from slurmpod.rules.groups import API, GUIDE
from slurmpod.rules.partitions import seconds
from slurmpod.rules.registry import Finding

PLAN_QUOTAS = "https://docs.aws.amazon.com/sagemaker/latest/dg/training-plan-quotas.html"
PLAN = f"{API}API_DescribeTrainingPlan.html"
PLANS_FOR_HYPERPOD = f"{GUIDE}use-training-plan-for-hyperpod-clusters.html"
PLANS_FOR_TRAINING = f"{GUIDE}training-plan-utilization-for-training-jobs.html"
USABLE = ("Active", "Scheduled")
END_BEGINS = timedelta(minutes=30)
"""Time before its end at which a plan begins to lose its nodes (developer guide, "Training plans
utilization for SageMaker training jobs", "Reserved Capacity termination process").
"""

FORESEEN = timedelta(days=30)
"""Time before the end of a plan from which jobs without a time limit are reported."""

LAST_DAYS = 7
"""Remaining time that is too short for a deployment to be worthwhile."""


@dataclass(frozen=True)
class TrainingPlan:
    """A training plan; `zone` is a name, `instances` the reserved number."""

    status: str
    targets: tuple[str, ...]
    instance_type: str
    zone: str
    instances: int
    starts: datetime | None
    ends: datetime | None


def _training_plans(clients: AwsClients, resolved: Resolved) -> dict[str, TrainingPlan | None]:
    return {arn: _training_plan(clients, arn) for arn in names.training_plans(resolved)}


def _training_plan(clients: AwsClients, arn: str) -> TrainingPlan | None:
    with suppressed("ResourceNotFound"):
        found: Any = clients.sagemaker.describe_training_plan(
            TrainingPlanName=arn.rpartition("/")[2]
        )
        capacities = found.get("ReservedCapacitySummaries", [])
        first = capacities[0] if capacities else {}
        return TrainingPlan(
            status=found["Status"],
            targets=tuple(found.get("TargetResources", ())),
            instance_type=first.get("InstanceType", ""),
            zone=first.get("AvailabilityZone", ""),
            instances=found.get("TotalInstanceCount", 0),
            starts=found.get("StartTime"),
            ends=found.get("EndTime"),
        )
    return None


TRAINING_PLANS = Question(
    "training_plans",
    "training plans",
    ("sagemaker:DescribeTrainingPlan",),
    ("sagemaker",),
    _training_plans,
    named=names.training_plans,
)


@PREFLIGHT.rule(
    "PRE-109",
    "Quotas allow the instances of training plans",
    why="Buying a plan has separate quotas. AWS also requires a quota for cluster usage that is "
    "no smaller than the plan.",
    fix=INCREASE,
    source=PLAN_QUOTAS,
    severity=Severity.WARNING,
)
def _instances_of_plans(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    needed = Counter[str]()
    for group in resolved.groups:
        if not group.settings.training_plan_arn:
            continue
        needed[group.instance_type] += group.count
        name = f"{group.instance_type} for cluster usage"
        quota = quota_of(facts, "sagemaker", name)
        if quota is not None and needed[group.instance_type] > quota:
            wanted = f"{needed[group.instance_type]} come from training plans"
            yield Finding((*group.path, "count"), f"the quota '{name}' is {quota:g}; {wanted}")


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
        plans = facts[TRAINING_PLANS] or {}
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
        if facts[ZONES] and plan.zone and zone_id(facts, plan.zone) != zone_id(facts, group.zone):
            message = f"the plan is in {plan.zone} ({zone_id(facts, plan.zone)}), not {group.zone}"
            yield Finding(path, message)


@PREFLIGHT.rule(
    "PRE-213",
    "Training plans have enough instances",
    why="Groups of all clusters share a plan's instances; HyperPod refuses more than it has.",
    fix="use fewer nodes, or another plan",
    source=PLANS_FOR_HYPERPOD,
)
def _plans_suffice(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    used = Counter[str]()
    for cluster in facts[CLUSTERS] or ():
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
    "Training plans are running",
    why="Before a plan begins its nodes do not start; 30 minutes before it ends AWS begins to "
    "remove them, with their running jobs.",
    fix="deploy when it begins, or buy more time (`slurmpod capacity extend`); suppress it if "
    "that is intended",
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
    why="Slurm does not know the end of a plan: it starts jobs that run beyond it, and 30 "
    "minutes before the end their nodes are removed. Work since the last checkpoint is lost.",
    fix="give the partition a max_time below slurm.partitions that is shorter than the "
    "remaining time, or buy more time (`slurmpod capacity extend`); suppress it if jobs "
    "save checkpoints",
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
        plan = (facts[TRAINING_PLANS] or {}).get(arn)
        if plan and plan.status in USABLE:
            yield group, path, plan


def _users(resolved: Resolved) -> Iterator[tuple[ResolvedGroup, str, YamlPath]]:
    for group in resolved.groups:
        if arn := group.settings.training_plan_arn:
            yield group, arn, (*group.path, "training_plan_arn")


QUESTIONS = (TRAINING_PLANS,)
