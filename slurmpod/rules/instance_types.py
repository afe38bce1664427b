"""Rules for the choice of instance types within a group and across the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.model.cluster import Role
from slurmpod.problems import Severity
from slurmpod.rules.groups import API, CATALOG, at, groups_with, known_types
from slurmpod.rules.registry import Area, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved

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
def _one_way_to_say_it(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        if group.instance_type and group.instance_types:
            message = f"'{group.name}' has both instance_type and instance_types"
            yield Finding(at(index, "instance_types"), message, at_key=True)
        elif not group.instance_type and not group.instance_types:
            yield Finding(at(index), f"'{group.name}' has no instance type")


@TYPES.rule(
    "TYP-002",
    "No type stands twice in a list",
    why="The order says which type is wanted more; a type cannot have two places.",
    fix="remove one of the two",
    source=REQUIREMENTS,
)
def _no_repetition(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        for number, name in enumerate(group.instance_types):
            if name in group.instance_types[:number]:
                place = at(index, "instance_types", number)
                yield Finding(place, f"'{name}' stands above already")


@TYPES.rule(
    "TYP-003",
    "Lists of types are for continuous provisioning",
    why="With standard provisioning all nodes of a group are requested at once, of one type; "
    "CreateCluster refuses a list.",
    fix="write 'provisioning: continuous' under cluster, or one instance_type",
    source=REQUIREMENTS,
)
def _lists_are_continuous(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        if group.instance_types and not resolved.continuous:
            message = "a list of types needs continuous provisioning"
            yield Finding(at(index, "instance_types"), message, at_key=True)


@TYPES.rule(
    "TYP-004",
    "The types of a list have one architecture",
    why="Programs for x86_64 do not run on arm64, and a job that asks for the group's partition "
    "does not know which of the two it gets.",
    fix="make a group for each architecture",
    source=CATALOG,
    severity=Severity.WARNING,
)
def _one_architecture(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        architectures = sorted({facts.architecture for facts in known_types(group)})
        if len(architectures) > 1:
            message = f"the types of '{group.name}' mix {' and '.join(architectures)}"
            yield Finding(at(index, "instance_types"), message, at_key=True)


@TYPES.rule(
    "TYP-005",
    "The types of a list have the same accelerators",
    why="Jobs ask a partition for a number of accelerators and are built for one kind of them; "
    "nodes that differ leave some of these jobs waiting or failing.",
    fix="make a group for each kind of accelerator",
    source="https://slurm.schedmd.com/gres.html",
    severity=Severity.WARNING,
)
def _same_accelerators(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        kinds = {(f.accelerator_count, f.accelerator) for f in known_types(group)}
        if len(kinds) > 1:
            listed = ", ".join(f"{n} x {kind}" if n else "none" for n, kind in sorted(kinds))
            message = f"the accelerators of '{group.name}' differ: {listed}"
            yield Finding(at(index, "instance_types"), message, at_key=True)


@TYPES.rule(
    "TYP-006",
    "Types with chosen network interfaces have EFA",
    why="Both efa and efa-only ask for Elastic Fabric Adapters, which other types do not have.",
    fix="remove the key, or choose a type with EFA",
    source=EFA_TYPES,
)
def _interfaces_need_efa(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        without = [facts.name for facts in known_types(group) if not facts.efa_interfaces]
        if group.network_interface and without:
            message = f"{', '.join(without)} has no EFA"
            yield Finding(at(index, "network_interface"), message)


@TYPES.rule(
    "TYP-007",
    "Login nodes and workers have the same architecture",
    why="What users compile and install on a login node is built for its architecture and does not "
    "run on workers of the other one.",
    fix="choose a login type with the architecture of the workers",
    source=CATALOG,
    severity=Severity.WARNING,
)
def _logins_are_like_workers(environment: Environment, _: Resolved) -> Iterator[Finding]:
    workers = {
        facts.architecture
        for _index, group in groups_with(environment, Role.WORKER)
        for facts in known_types(group)
    }
    for index, group in groups_with(environment, Role.LOGIN):
        own = {facts.architecture for facts in known_types(group)}
        if own and workers and not own & workers:
            theirs, others = " and ".join(sorted(own)), " and ".join(sorted(workers))
            message = f"login nodes have {theirs}, the workers {others}"
            key = "instance_type" if group.instance_type else "instance_types"
            yield Finding(at(index, key), message)
