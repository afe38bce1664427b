"""Rules for instance types: their choice and their names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slurmpod.environment.catalog import ULTRASERVER_TYPES, instance_types
from slurmpod.environment.cluster import Role
from slurmpod.environment.suggestion import nearest
from slurmpod.problems import Severity
from slurmpod.resolve import Resolved, ResolvedGroup
from slurmpod.rules.groups import API, CATALOG, known_types
from slurmpod.rules.registry import LIFECYCLE_MODE, Area, Finding

TYPES = Area("TYP", "Instance types", reads=("cluster",))

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
    "No type is listed twice",
    why="The order says which type is wanted more; a type cannot have two places.",
    fix="remove one of the two",
    source=REQUIREMENTS,
)
def _no_repetition(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        for number, name in enumerate(group.settings.instance_types):
            if name in group.settings.instance_types[:number]:
                place = (*group.path, "instance_types", number)
                yield Finding(place, f"'{name}' is listed already")


@TYPES.rule(
    "TYP-003",
    "Lists of types are for continuous provisioning",
    why="With standard provisioning all nodes of a group are requested at once, of one type; "
    "CreateCluster refuses a list.",
    fix="write 'provisioning: continuous' under cluster, or one instance_type",
    source=REQUIREMENTS,
    reads=("cluster", *LIFECYCLE_MODE),
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


@TYPES.rule(
    "TYP-008",
    "The groups of a partition have one architecture",
    why="A job that asks for a partition does not know on which of its nodes it starts, and "
    "programs for x86_64 do not run on arm64.",
    fix="give the groups different partitions",
    source=CATALOG,
    severity=Severity.WARNING,
)
def _partitions_have_one_architecture(resolved: Resolved) -> Iterator[Finding]:
    first: dict[str, ResolvedGroup] = {}
    for group in resolved.groups_with(Role.WORKER):
        own = _architectures(group)
        if group.partition is None or len(own) != 1:
            continue
        other = first.setdefault(group.partition, group)
        if own != (theirs := _architectures(other)):
            message = f"'{group.name}' has {own.pop()}, '{other.name}' {theirs.pop()}"
            yield Finding((*group.path, "partition"), message)


@TYPES.rule(
    "TYP-009",
    "A machine image has one architecture",
    why="EC2 starts an image only on instances of the same architecture.",
    fix="name another image for the groups of the other architecture",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ami-types.html",
)
def _images_have_one_architecture(resolved: Resolved) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for group in resolved.groups:
        image = group.settings.image_id
        for architecture in sorted(_architectures(group)) if image else ():
            if (other := first.setdefault(str(image), architecture)) != architecture:
                message = f"one image cannot be for {other} and for {architecture}"
                yield Finding((*group.path, "image_id"), message)
                break


@TYPES.rule(
    "TYP-010",
    "Jobs reach the GPUs of a whole UltraServer",
    why="Within an UltraServer GPUs of different instances are joined by NVLink, for which "
    "NVIDIA's IMEX must know the nodes of a job; without it, jobs use EFA. HyperPod's image has "
    "IMEX, and HyperPod describes each UltraServer to Slurm as a block (topology/block); "
    "slurmpod does not configure IMEX's nodes, and whether HyperPod does is not known.",
    fix="configure IMEX in your own prolog, ask for nodes of one UltraServer with "
    "`--exclusive=topo` or `--segment`, and accept the warning",
    source="https://docs.aws.amazon.com/pcs/latest/userguide/capacity-blocks-nvidia-imex.html",
    severity=Severity.WARNING,
)
def _ultraservers_are_joined(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups_with(Role.WORKER):
        if ULTRASERVER_TYPES.intersection(group.instance_types) and group.count > 1:
            message = f"nothing joins the GPUs of the {group.count} nodes by NVLink"
            key = "instance_type" if group.settings.instance_type else "instance_types"
            yield Finding((*group.path, key), message)


def _architectures(group: ResolvedGroup) -> set[str]:
    return {facts.architecture for facts in known_types(group)}


FAMILY = re.compile(r"[a-z]{1,4}[0-9]{1,2}[a-z0-9]*(-[a-z0-9]+)*")

MULTIPLES = (2, 3, 4, 6, 9, 10, 12, 18, 36)
LARGE_STEP = 8
SIZE = re.compile(r"nano|micro|small|medium|large|([1-9][0-9]*)?xlarge")
"""Sizes that EC2 has in its families, but for metal (EC2 API reference, RunInstances): the small
multiples one by one, and of others any that is a multiple of 8, as all large ones are."""


def is_plausible(name: str) -> bool:
    """Return whether `ml.<family>.<size>` is composed like the types of EC2.

    That a known type has nearly this name decides nothing: the next generation, ml.p6, is one
    letter from ml.p5. It is only a hint.
    """
    _, family, size = name.split(".")
    found = SIZE.fullmatch(size)
    multiple = int(found[1] or 0) if found else 1
    is_size = multiple in MULTIPLES or multiple % LARGE_STEP == 0
    return bool(FAMILY.fullmatch(family)) and is_size


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
