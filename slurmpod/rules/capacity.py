"""Rules for where the capacity of groups comes from: on demand, spot, training plans."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.environment.catalog import INSTANCE_TYPES_AS_OF, TYPES_OF_PLANS, ULTRASERVER_TYPES
from slurmpod.environment.cluster import Role
from slurmpod.environment.names import account_of_arn, region_of_arn
from slurmpod.problems import Severity
from slurmpod.resolve import Resolved, ResolvedGroup
from slurmpod.rules.groups import API, GUIDE, known_types
from slurmpod.rules.registry import LIFECYCLE_MODE, Area, Finding

CAPACITY = Area("CAP", "Capacity", reads=("cluster",))

GROUP_SPECIFICATION = f"{API}API_ClusterInstanceGroupSpecification.html"
SPOT = f"{GUIDE}sagemaker-hyperpod-spot.html"
PLANS = f"{GUIDE}reserve-capacity-with-training-plans.html"
RESERVED = f"{API}API_ReservedCapacityOffering.html"
PLANS_FOR_HYPERPOD = f"{GUIDE}use-training-plan-for-hyperpod-clusters.html"


@CAPACITY.rule(
    "CAP-001",
    "No group needs more nodes than it has",
    why="min_count says how many nodes suffice for the group to be in service: at most all.",
    fix="write count or less, or remove the key",
    source=GROUP_SPECIFICATION,
)
def _minimum_is_below_count(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        if group.settings.min_count is not None and group.settings.min_count > group.count:
            message = f"'{group.name}' has {group.count} nodes, not {group.settings.min_count}"
            yield Finding((*group.path, "min_count"), message)


@CAPACITY.rule(
    "CAP-002",
    "A minimum of nodes is for continuous provisioning",
    why="With standard provisioning a group is in service when all its nodes are; on Slurm, only "
    "continuous provisioning knows a minimum.",
    fix="write 'provisioning: continuous' under cluster, or remove the key",
    source="https://aws.amazon.com/about-aws/whats-new/2026/05/amazon-sagemaker-hyperpod-mincount",
    reads=("cluster", *LIFECYCLE_MODE),
)
def _minimum_is_continuous(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        if group.settings.min_count is not None and not resolved.continuous:
            message = "a minimum of nodes needs continuous provisioning"
            yield Finding((*group.path, "min_count"), message)


@CAPACITY.rule(
    "CAP-003",
    "Spot capacity is for workers",
    why="EC2 takes spot instances back at two minutes' notice. Jobs can bear that; a controller "
    "takes the queue and its records along, and a login node the sessions of its users.",
    fix="remove the key, or write on_demand",
    source=SPOT,
    severity=Severity.WARNING,
)
def _spot_is_for_workers(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        if group.settings.capacity == "spot" and group.role is not Role.WORKER:
            yield Finding((*group.path, "capacity"), f"the {group.role} would be on spot capacity")


@CAPACITY.rule(
    "CAP-004",
    "Spot capacity comes with continuous provisioning",
    why="Spot instances work with continuous provisioning, which asks again for what was not "
    "there or was taken back. Standard provisioning takes none.",
    fix="write 'provisioning: continuous' under cluster",
    source=SPOT,
    reads=("cluster", *LIFECYCLE_MODE),
)
def _spot_is_continuous(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        if group.settings.capacity == "spot" and not resolved.continuous:
            yield Finding((*group.path, "capacity"), "spot capacity with standard provisioning")


@CAPACITY.rule(
    "CAP-005",
    "Nodes of a training plan are not bought otherwise",
    why="A training plan is capacity that is reserved and paid for; on_demand and spot say that "
    "the nodes come from elsewhere.",
    fix="remove capacity, or the training plan",
    source=PLANS,
)
def _plan_or_market(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        if group.settings.capacity and group.settings.training_plan_arn:
            message = f"'{group.settings.capacity}' contradicts the training plan"
            yield Finding((*group.path, "capacity"), message)


@CAPACITY.rule(
    "CAP-006",
    "Training plans belong to this account and Region",
    why="A plan reserves capacity in one Region for one account; CreateCluster finds no other.",
    fix="write the ARN of a plan of this environment's account and Region",
    source=PLANS_FOR_HYPERPOD,
    reads=("account", "cluster", "region"),
)
def _plan_is_ours(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        plan, path = group.settings.training_plan_arn, (*group.path, "training_plan_arn")
        if not plan:
            continue
        region, account = region_of_arn(plan), account_of_arn(plan)
        if region != resolved.region:
            yield Finding(path, f"the plan is for {region or 'no Region'}, not this one")
        if account != resolved.account:
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
def _plan_is_for_workers(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        if group.settings.training_plan_arn and group.role is not Role.WORKER:
            message = f"the {group.role} would come from a training plan"
            yield Finding((*group.path, "training_plan_arn"), message)


@CAPACITY.rule(
    "CAP-008",
    "Training plans are for accelerated types",
    why="Training plans offer types with GPUs and Trainium; a plan and the group that uses it have "
    "the same type.",
    fix="write the type of the plan, or remove the plan",
    source=PLANS,
)
def _plan_is_accelerated(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        plain = [facts.name for facts in known_types(group) if not facts.accelerator_count]
        if group.settings.training_plan_arn and plain:
            message = f"{', '.join(plain)} has no accelerators"
            yield Finding((*group.path, "training_plan_arn"), message)


@CAPACITY.rule(
    "CAP-009",
    "A group with a training plan has one type",
    why="Reserved capacity is of one instance type: there is nothing to choose from.",
    fix="write instance_type, with the type of the plan",
    source=PLANS,
)
def _plan_has_one_type(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        if group.settings.training_plan_arn and len(group.settings.instance_types) > 1:
            message = f"the plan of '{group.name}' cannot be for all of its types"
            yield Finding((*group.path, "instance_types"), message, at_key=True)


@CAPACITY.rule(
    "CAP-010",
    "A training plan has nodes to pay for",
    why="A plan is paid whether it is used or not.",
    fix="write the number of instances of the plan",
    source=PLANS,
    severity=Severity.WARNING,
)
def _plan_is_used(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        if group.settings.training_plan_arn and not group.count:
            yield Finding(
                (*group.path, "count"), f"'{group.name}' uses nothing of its training plan"
            )


@CAPACITY.rule(
    "CAP-011",
    "Groups that share a training plan are in one zone",
    why="Reserved capacity is in one Availability Zone; it cannot provide nodes in another one.",
    fix="give the groups the zone of the plan",
    source=PLANS,
    severity=Severity.WARNING,
    reads=("cluster", "network"),
)
def _plan_is_in_one_zone(resolved: Resolved) -> Iterator[Finding]:
    zones: dict[str, str] = {}
    for group in resolved.groups:
        if not group.settings.training_plan_arn:
            continue
        other = zones.setdefault(group.settings.training_plan_arn, group.zone)
        if group.zone != other:
            message = f"another group uses this plan in {other}, this one in {group.zone}"
            yield Finding((*group.path, "training_plan_arn"), message)


@CAPACITY.rule(
    "CAP-012",
    "Training plans are known for the type",
    why="Plans reserve only some of the types with accelerators: those that train large models. "
    f"The list is from {INSTANCE_TYPES_AS_OF}.",
    fix="write the type of the plan, or remove the plan; suppress it if AWS has added the type",
    source=RESERVED,
    severity=Severity.WARNING,
)
def _plans_have_the_type(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        accelerated = {facts.name for facts in known_types(group) if facts.accelerator_count}
        without = sorted(accelerated - TYPES_OF_PLANS)
        if group.settings.training_plan_arn and without:
            message = f"there were no plans for {', '.join(without)} (as of {INSTANCE_TYPES_AS_OF})"
            yield Finding((*group.path, "training_plan_arn"), message)


@CAPACITY.rule(
    "CAP-013",
    "Groups that share a training plan have one type",
    why="A plan reserves instances of one type.",
    fix="give the groups the type of the plan, or a plan each",
    source=PLANS,
)
def _plan_is_of_one_type(resolved: Resolved) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for group in resolved.groups:
        plan, name = group.settings.training_plan_arn, group.settings.instance_type
        if plan and name and first.setdefault(plan, name) != name:
            message = f"another group uses this plan for {first[plan]}, this one for {name}"
            yield Finding((*group.path, "training_plan_arn"), message)


@CAPACITY.rule(
    "CAP-014",
    "Instances of UltraServers come from a training plan",
    why="AWS reserves UltraServers as a whole, u-p6e-gb200x36 of 9 instances or u-p6e-gb200x72 of "
    "18. Their instances are known neither on demand nor as spot: the group waits for capacity "
    "that does not come.",
    fix="write the training_plan_arn of the UltraServers; suppress it if AWS sells them otherwise",
    source=PLANS,
    severity=Severity.WARNING,
)
def _ultraservers_are_planned(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        parts = sorted(ULTRASERVER_TYPES.intersection(group.instance_types))
        if parts and not group.settings.training_plan_arn:
            message = f"{', '.join(parts)} is not known to be had without a training plan"
            yield Finding((*group.path, _type_key(group)), message)


def _type_key(group: ResolvedGroup) -> str:
    return "instance_type" if group.settings.instance_type else "instance_types"
