"""Rules for how nodes are bought: how many at least, spot, training plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.model.cluster import Role
from slurmpod.model.names import account_of_arn, region_of_arn
from slurmpod.problems import Severity
from slurmpod.rules.groups import API, GUIDE, at, known_types
from slurmpod.rules.registry import Area, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved

CAPACITY = Area("CAP", "Capacity")

GROUP_SPECIFICATION = f"{API}API_ClusterInstanceGroupSpecification.html"
SPOT = f"{GUIDE}sagemaker-hyperpod-spot.html"
PLANS = f"{GUIDE}reserve-capacity-with-training-plans.html"
PLANS_FOR_HYPERPOD = f"{GUIDE}use-training-plan-for-hyperpod-clusters.html"


@CAPACITY.rule(
    "CAP-001",
    "No group needs more nodes than it has",
    why="min_count says how many nodes suffice for the group to be in service: at most all.",
    fix="write count or less, or remove the key",
    source=GROUP_SPECIFICATION,
)
def _minimum_is_below_count(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        if group.min_count is not None and group.min_count > group.count:
            message = f"'{group.name}' has {group.count} nodes, not {group.min_count}"
            yield Finding(at(index, "min_count"), message)


@CAPACITY.rule(
    "CAP-002",
    "A minimum of nodes is for continuous provisioning",
    why="With standard provisioning a group is in service when all its nodes are; on Slurm, only "
    "continuous provisioning knows a minimum.",
    fix="write 'provisioning: continuous' under cluster, or remove the key",
    source="https://aws.amazon.com/about-aws/whats-new/2026/05/amazon-sagemaker-hyperpod-mincount",
)
def _minimum_is_continuous(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        if group.min_count is not None and not resolved.continuous:
            message = "a minimum of nodes needs continuous provisioning"
            yield Finding(at(index, "min_count"), message)


@CAPACITY.rule(
    "CAP-003",
    "Spot capacity is for workers",
    why="EC2 takes spot instances back at two minutes' notice. Jobs can bear that; a controller "
    "takes the queue and its records along, and a login node the sessions of its users.",
    fix="remove the key, or write on_demand",
    source=SPOT,
    severity=Severity.WARNING,
)
def _spot_is_for_workers(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        if group.capacity == "spot" and group.role is not Role.WORKER:
            yield Finding(at(index, "capacity"), f"the {group.role} would be on spot capacity")


@CAPACITY.rule(
    "CAP-004",
    "Spot capacity comes with continuous provisioning",
    why="Spot instances work with continuous provisioning, which asks again for what was not "
    "there or was taken back. Standard provisioning fails as a whole when one is missing.",
    fix="write 'provisioning: continuous' under cluster",
    source=SPOT,
    severity=Severity.WARNING,
)
def _spot_is_continuous(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        if group.capacity == "spot" and not resolved.continuous:
            yield Finding(at(index, "capacity"), "spot capacity with standard provisioning")


@CAPACITY.rule(
    "CAP-005",
    "Nodes of a training plan are not bought otherwise",
    why="A training plan is capacity that is reserved and paid for; on_demand and spot say that "
    "the nodes come from elsewhere.",
    fix="remove capacity, or the training plan",
    source=PLANS,
)
def _plan_or_market(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        if group.capacity and group.training_plan_arn:
            message = f"'{group.capacity}' contradicts the training plan"
            yield Finding(at(index, "capacity"), message)


@CAPACITY.rule(
    "CAP-006",
    "Training plans belong to this account and Region",
    why="A plan reserves capacity in one Region for one account; CreateCluster finds no other.",
    fix="write the ARN of a plan of this environment's account and Region",
    source=PLANS_FOR_HYPERPOD,
)
def _plan_is_ours(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        plan, path = group.training_plan_arn, at(index, "training_plan_arn")
        if not plan:
            continue
        region, account = region_of_arn(plan), account_of_arn(plan)
        if region != environment.region:
            yield Finding(path, f"the plan is for {region or 'no Region'}, not this one")
        if account != environment.account:
            yield Finding(path, f"the plan belongs to account {account}, not to this one")


@CAPACITY.rule(
    "CAP-007",
    "Training plans are for workers",
    why="Plans reserve accelerators. The controller and login nodes need none, and would be gone "
    "when the plan ends.",
    fix="remove the key",
    source=PLANS_FOR_HYPERPOD,
    severity=Severity.WARNING,
)
def _plan_is_for_workers(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        if group.training_plan_arn and group.role is not Role.WORKER:
            message = f"the {group.role} would come from a training plan"
            yield Finding(at(index, "training_plan_arn"), message)


@CAPACITY.rule(
    "CAP-008",
    "Training plans are for accelerated types",
    why="Training plans offer types with GPUs and Trainium; a plan and the group that uses it have "
    "the same type.",
    fix="write the type of the plan, or remove the plan",
    source=PLANS,
    severity=Severity.WARNING,
)
def _plan_is_accelerated(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        plain = [facts.name for facts in known_types(group) if not facts.accelerator_count]
        if group.training_plan_arn and group.role is Role.WORKER and plain:
            message = f"{', '.join(plain)} has no accelerators"
            yield Finding(at(index, "training_plan_arn"), message)


@CAPACITY.rule(
    "CAP-009",
    "A group with a training plan has one type",
    why="Reserved capacity is of one instance type: there is nothing to choose from.",
    fix="write instance_type, with the type of the plan",
    source=PLANS,
)
def _plan_has_one_type(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        if group.training_plan_arn and len(group.instance_types) > 1:
            message = f"the plan of '{group.name}' cannot be for all of its types"
            yield Finding(at(index, "instance_types"), message, at_key=True)


@CAPACITY.rule(
    "CAP-010",
    "A training plan has nodes to pay for",
    why="A plan is paid whether it is used or not.",
    fix="write the number of instances of the plan",
    source=PLANS,
    severity=Severity.WARNING,
)
def _plan_is_used(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        if group.training_plan_arn and not group.count:
            yield Finding(at(index, "count"), f"'{group.name}' uses nothing of its training plan")


@CAPACITY.rule(
    "CAP-011",
    "Groups that share a training plan are in one zone",
    why="Reserved capacity lies in one Availability Zone; nodes elsewhere cannot come from it.",
    fix="give the groups the zone of the plan",
    source=PLANS,
    severity=Severity.WARNING,
)
def _plan_is_in_one_zone(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    zones: dict[str, str] = {}
    for index, group in enumerate(environment.cluster.groups):
        if not group.training_plan_arn:
            continue
        zone = resolved.groups[index].zone
        other = zones.setdefault(group.training_plan_arn, zone)
        if zone != other:
            message = f"another group uses this plan in {other}, this one in {zone}"
            yield Finding(at(index, "training_plan_arn"), message)
