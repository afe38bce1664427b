"""Rules for instance types: their choice, their names, and where their capacity is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slurmpod.environment.catalog import instance_types
from slurmpod.environment.cluster import Role
from slurmpod.environment.names import account_of_arn, region_of_arn
from slurmpod.environment.suggestion import nearest
from slurmpod.problems import Severity
from slurmpod.resolve import Resolved
from slurmpod.rules.groups import API, CATALOG, GUIDE, known_types
from slurmpod.rules.registry import Area, Finding

TYPES = Area("TYP", "Instance types")

REQUIREMENTS = f"{API}API_ClusterInstanceRequirements.html"
EFA_TYPES = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html"


@TYPES.rule(
    "TYP-001",
    "Every group has either one instance type or a list of them",
    why="HyperPod takes one type, or a list from which it chooses what it gets; both or neither is "
    "refused.",
    fix="write instance_type, or in its place instance_types",
    source=REQUIREMENTS,
)
def _one_way_to_say_it(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        if group.settings.instance_type and group.settings.instance_types:
            message = f"'{group.name}' has both instance_type and instance_types"
            yield Finding((*group.path, "instance_types"), message, at_key=True)
        elif not group.settings.instance_type and not group.settings.instance_types:
            yield Finding(group.path, f"'{group.name}' has no instance type")


@TYPES.rule(
    "TYP-002",
    "No type stands twice in a list",
    why="The order says which type is wanted more; a type cannot have two places.",
    fix="remove one of the two",
    source=REQUIREMENTS,
)
def _no_repetition(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        for number, name in enumerate(group.settings.instance_types):
            if name in group.settings.instance_types[:number]:
                place = (*group.path, "instance_types", number)
                yield Finding(place, f"'{name}' stands above already")


@TYPES.rule(
    "TYP-003",
    "Lists of types are for continuous provisioning",
    why="With standard provisioning all nodes of a group are requested at once, of one type; "
    "CreateCluster refuses a list.",
    fix="write 'provisioning: continuous' under cluster, or one instance_type",
    source=REQUIREMENTS,
)
def _lists_are_continuous(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        if group.settings.instance_types and not resolved.continuous:
            message = "a list of types needs continuous provisioning"
            yield Finding((*group.path, "instance_types"), message, at_key=True)


@TYPES.rule(
    "TYP-004",
    "The types of a list have one architecture",
    why="Programs for x86_64 do not run on arm64, and a job that asks for the group's partition "
    "does not know which of the two it gets.",
    fix="make a group for each architecture",
    source=CATALOG,
    severity=Severity.WARNING,
)
def _one_architecture(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        architectures = sorted({facts.architecture for facts in known_types(group)})
        if len(architectures) > 1:
            message = f"the types of '{group.name}' mix {' and '.join(architectures)}"
            yield Finding((*group.path, "instance_types"), message, at_key=True)


@TYPES.rule(
    "TYP-005",
    "The types of a list have the same accelerators",
    why="Jobs ask a partition for a number of accelerators and are built for one kind of them; "
    "nodes that differ leave some of these jobs waiting or failing.",
    fix="make a group for each kind of accelerator",
    source="https://slurm.schedmd.com/gres.html",
    severity=Severity.WARNING,
)
def _same_accelerators(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        kinds = {(f.accelerator_count, f.accelerator) for f in known_types(group)}
        if len(kinds) > 1:
            listed = ", ".join(f"{n} x {kind}" if n else "none" for n, kind in sorted(kinds))
            message = f"the accelerators of '{group.name}' differ: {listed}"
            yield Finding((*group.path, "instance_types"), message, at_key=True)


@TYPES.rule(
    "TYP-006",
    "Types with chosen network interfaces have EFA",
    why="Both efa and efa-only ask for Elastic Fabric Adapters, which other types do not have.",
    fix="remove the key, or choose a type with EFA",
    source=EFA_TYPES,
)
def _interfaces_need_efa(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        without = [facts.name for facts in known_types(group) if not facts.efa_interfaces]
        if group.settings.network_interface and without:
            message = f"{', '.join(without)} has no EFA"
            yield Finding((*group.path, "network_interface"), message)


@TYPES.rule(
    "TYP-007",
    "Login nodes and workers have the same architecture",
    why="What users compile and install on a login node is built for its architecture and does not "
    "run on workers of the other one.",
    fix="choose a login type with the architecture of the workers",
    source=CATALOG,
    severity=Severity.WARNING,
)
def _logins_are_like_workers(resolved: Resolved) -> Iterator[Finding]:
    workers = {
        facts.architecture
        for group in resolved.groups_with(Role.WORKER)
        for facts in known_types(group)
    }
    for group in resolved.groups_with(Role.LOGIN):
        own = {facts.architecture for facts in known_types(group)}
        if own and workers and not own & workers:
            theirs, others = " and ".join(sorted(own)), " and ".join(sorted(workers))
            message = f"login nodes have {theirs}, the workers {others}"
            key = "instance_type" if group.settings.instance_type else "instance_types"
            yield Finding((*group.path, key), message)


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
    "there or was taken back. Standard provisioning fails as a whole when one is missing.",
    fix="write 'provisioning: continuous' under cluster",
    source=SPOT,
    severity=Severity.WARNING,
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
    severity=Severity.WARNING,
)
def _plan_is_accelerated(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        plain = [facts.name for facts in known_types(group) if not facts.accelerator_count]
        if group.settings.training_plan_arn and group.role is Role.WORKER and plain:
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
    why="Reserved capacity lies in one Availability Zone; nodes elsewhere cannot come from it.",
    fix="give the groups the zone of the plan",
    source=PLANS,
    severity=Severity.WARNING,
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


FAMILY = re.compile(r"[a-z]{1,4}[0-9]{1,2}[a-z0-9]*(-[a-z0-9]+)*")

MULTIPLES = (2, 3, 4, 6, 8, 9, 10, 12, 16, 18, 24, 32, 36, 48, 56, 64, 96, 112, 224, 480)
SIZES = frozenset(
    {"nano", "micro", "small", "medium", "large", "xlarge"}
    | {f"{multiple}xlarge" for multiple in MULTIPLES}
)
"""All that EC2 has in its families, but for metal (EC2 API reference, RunInstances)."""


def is_plausible(name: str) -> bool:
    """Tell whether `ml.<family>.<size>` is composed like the types of EC2."""
    _, family, size = name.split(".")
    return bool(FAMILY.fullmatch(family)) and size in SIZES


def likely_meant(name: str) -> str:
    """Return a hint at known types for a plausible name: its family's, or one alike of its size.

    Only families are compared: equal sizes would make names alike that have nothing in common.
    """
    _, family, size = name.split(".")
    known = [each.split(".") for each in instance_types()]
    if sizes := [its_size for _, its_family, its_size in known if its_family == family]:
        return f"of {family} it knows {', '.join(sizes)}:"
    like = nearest(family, (its_family for _, its_family, its_size in known if its_size == size))
    return f"did you mean 'ml.{like}.{size}'?" if like else ""
