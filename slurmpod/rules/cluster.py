"""Rules for the instance groups."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.environment.catalog import (
    INSTANCE_TYPES_AS_OF,
    PASSED_OVER,
    family_of,
    instance_types,
)
from slurmpod.environment.cluster import Role
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.problems import Severity
from slurmpod.resolve import Resolved
from slurmpod.rules.groups import API, CATALOG, GROUPS, GUIDE, known_types, named_types
from slurmpod.rules.instance_types import is_plausible, likely_meant
from slurmpod.rules.registry import Area, Finding

CLUSTER = Area("CLU", "Instance groups", reads=("cluster",))

SLURM_GUIDE = f"{GUIDE}sagemaker-hyperpod-lifecycle-best-practices-slurm.html"
GROUP_SPECIFICATION = f"{API}API_ClusterInstanceGroupSpecification.html"

ACCEPT_IT = (
    "correct it; or accept the warning with 'suppress', and make sure that the private subnet has "
    "an address for each network card"
)
SMALLEST_VOLUME_GIB = 20

BURSTABLE = frozenset({"t3"})
"""Families whose CPUs are throttled to a baseline when their credits are spent."""

NODES_OF_A_SMALL_CONTROLLER = 32
"""The most compute nodes that AWS PCS gives its smallest controller (API reference, Cluster, as of
2025-09-22)."""

NODES_PER_GIB, GIB_OF_THE_SYSTEM, GIB_FOR_ANY_CLUSTER = 25, 0.6, 16
"""Memory that AWS ParallelCluster requires of a head node: a GiB for so many nodes, some for the
system, and never more than the last (its pull request 6623, 2024-12-13).
"""


@CLUSTER.rule(
    "CLU-001",
    "Exactly one group is the controller",
    why="HyperPod runs slurmctld on the one controller group and refuses clusters with none or "
    "several.",
    fix="give exactly one group the role controller",
    source=SLURM_GUIDE,
)
def _one_controller(resolved: Resolved) -> Iterator[Finding]:
    controllers = resolved.groups_with(Role.CONTROLLER)
    if not controllers:
        yield Finding(GROUPS, "no group has the role controller", at_key=True)
    for group in controllers[1:]:
        message = f"'{controllers[0].name}' is the controller already"
        yield Finding((*group.path, "role"), message)


@CLUSTER.rule(
    "CLU-002",
    "The controller is one node, unless several share their state",
    why="Controllers that take over from each other need a shared folder and an external database: "
    "slurm.multi_head. Without it there is one; with it there are at least two.",
    fix="write 1 or remove the key, or describe slurm.multi_head",
    source=f"{GUIDE}sagemaker-hyperpod-multihead-slurm.html",
    reads=("cluster", "slurm"),
)
def _controller_nodes(resolved: Resolved) -> Iterator[Finding]:
    multi_head = resolved.slurm.multi_head
    for group in resolved.groups_with(Role.CONTROLLER):
        if multi_head and group.count < 2:
            fix = "write 2 or more, or remove slurm.multi_head"
            message = f"several controllers are asked for, not {group.count}"
            yield Finding((*group.path, "count"), message, fix)
        elif not multi_head and group.count != 1:
            yield Finding((*group.path, "count"), f"the controller cannot have {group.count} nodes")


@CLUSTER.rule(
    "CLU-003",
    "At most one group is for logins",
    why="HyperPod refuses a Slurm cluster with several login groups.",
    fix="merge the login groups into one with a larger count",
    source=SLURM_GUIDE,
)
def _one_login(resolved: Resolved) -> Iterator[Finding]:
    logins = resolved.groups_with(Role.LOGIN)
    for group in logins[1:]:
        yield Finding((*group.path, "role"), f"'{logins[0].name}' is the login group already")


@CLUSTER.rule(
    "CLU-004",
    "At least one group has workers",
    why="Without workers Slurm has no node to run a job on. A worker group may have no nodes for "
    "a while: count 0.",
    fix="add a group with the role worker",
    source=SLURM_GUIDE,
)
def _some_workers(resolved: Resolved) -> Iterator[Finding]:
    if not resolved.groups_with(Role.WORKER):
        yield Finding(GROUPS, "no group has the role worker", at_key=True)


@CLUSTER.rule(
    "CLU-005",
    "No two groups have the same name",
    why="HyperPod and all scripts on the nodes identify instance groups by name.",
    fix="rename one of the two",
    source=GROUP_SPECIFICATION,
)
def _names_differ(resolved: Resolved) -> Iterator[Finding]:
    seen: set[str] = set()
    for group in resolved.groups:
        if group.name in seen:
            yield Finding((*group.path, "name"), f"there is already a group '{group.name}' above")
        seen.add(group.name)


@CLUSTER.rule(
    "CLU-006",
    "The instance type is plausible",
    why="CreateCluster accepts a fixed list of types, and this is not on it. Nor can it be a newer "
    "one: EC2 composes names of a family with a generation and of a size.",
    fix="choose a type of the list",
    source="https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html",
)
def _instance_type_is_possible(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        for name, path in named_types(group):
            if name not in instance_types() and not is_plausible(name):
                guess = did_you_mean(name, instance_types())
                fix = f"{guess} all types are in {CATALOG}".strip()
                yield Finding(path, f"there is no instance type '{name}'", fix)


@CLUSTER.rule(
    "CLU-007",
    "Controller and login nodes have no accelerators",
    why="They run no jobs: accelerators there cost much and idle.",
    fix="choose a type without accelerators, such as ml.m5.xlarge",
    source=CATALOG,
    severity=Severity.WARNING,
)
def _no_idle_accelerators(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        accelerated = [facts for facts in known_types(group) if facts.accelerator_count]
        if group.role is not Role.WORKER and accelerated:
            what = f"{accelerated[0].accelerator_count} x {accelerated[0].accelerator}"
            message = f"the {group.role} has {what} that no job will use"
            key = "instance_type" if group.settings.instance_type else "instance_types"
            yield Finding((*group.path, key), message)


@CLUSTER.rule(
    "CLU-008",
    "The instance type can run that many threads per core",
    why="Types without simultaneous multithreading have one thread per core, and EC2 refuses two.",
    fix="write 1, or remove the key",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/cpu-options-supported-instances-values.html",
)
def _threads_per_core(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        threads = group.settings.threads_per_core
        unable = [
            facts.name
            for facts in known_types(group)
            if threads and threads not in facts.valid_threads_per_core
        ]
        if unable:
            message = f"{', '.join(unable)} cannot run {threads} threads per core"
            yield Finding((*group.path, "threads_per_core"), message)


@CLUSTER.rule(
    "CLU-009",
    "Broken accelerator nodes are replaced",
    why="With node_recovery None a node with a broken accelerator stays, and a job with "
    "--auto-resume waits for it forever.",
    fix="write Automatic, or remove the key",
    source=f"{GUIDE}sagemaker-hyperpod-resiliency-slurm.html",
    severity=Severity.WARNING,
)
def _node_recovery(resolved: Resolved) -> Iterator[Finding]:
    accelerated = [
        group.name
        for group in resolved.groups
        if any(facts.accelerator_count for facts in known_types(group))
    ]
    if resolved.node_recovery == "None" and accelerated:
        message = f"broken nodes of {', '.join(accelerated)} would not be replaced"
        yield Finding(("cluster", "node_recovery"), message)


@CLUSTER.rule(
    "CLU-010",
    "The login group has a node",
    why="Users reach Slurm through the login nodes; without one they would work on the controller.",
    fix="write a count of 1 or more, or remove the group",
    source=SLURM_GUIDE,
    severity=Severity.WARNING,
)
def _login_has_a_node(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups_with(Role.LOGIN):
        if not group.count:
            yield Finding((*group.path, "count"), "the login group has no node to log in to")


@CLUSTER.rule(
    "CLU-011",
    "An additional volume has room for container images",
    why="The volume at /opt/sagemaker is for container images and their layers; one image with "
    "PyTorch and CUDA takes 10 to 20 GiB unpacked.",
    fix="write 20 or more (100 leaves room for several images), or remove the key",
    source=f"{API}API_ClusterEbsVolumeConfig.html",
    severity=Severity.WARNING,
)
def _volume(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        if group.settings.volume_gib and group.settings.volume_gib < SMALLEST_VOLUME_GIB:
            message = f"{group.settings.volume_gib} GiB hold no container image"
            yield Finding((*group.path, "volume_gib"), message)


@CLUSTER.rule(
    "CLU-012",
    "HyperPod is known to offer the instance type",
    why=f"The list, which is from {INSTANCE_TYPES_AS_OF}, does not have the type. Where HyperPod "
    "offers it by now, all works, but nothing is checked that follows from its accelerators, its "
    "network cards or its threads. One address per node is counted; types with many cards take "
    "more (P5: 32).",
    fix=ACCEPT_IT,
    source=CATALOG,
    severity=Severity.WARNING,
)
def _instance_type_is_known(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        for name, path in named_types(group):
            if name in instance_types() or family_of(name) in PASSED_OVER:
                continue
            if is_plausible(name):
                message = (
                    f"HyperPod had no '{name}' (as of {INSTANCE_TYPES_AS_OF}): its threads, EFA "
                    "and accelerators are not checked, and its nodes are counted with one address "
                    "each"
                )
                yield Finding(path, message, f"{likely_meant(name)} {ACCEPT_IT}".strip())


@CLUSTER.rule(
    "CLU-013",
    "The instance type is of a family that HyperPod takes",
    why="EC2 had these accelerators before there was HyperPod, and CreateCluster has never taken "
    f"them (as of {INSTANCE_TYPES_AS_OF}): {', '.join(sorted(PASSED_OVER))}.",
    fix=f"choose a type of the list: all are in {CATALOG}; suppress it if AWS has added it",
    source=GROUP_SPECIFICATION,
    severity=Severity.WARNING,
)
def _family_is_taken(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        for name, path in named_types(group):
            if family_of(name) in PASSED_OVER and is_plausible(name):
                yield Finding(path, f"HyperPod had no '{name}' (as of {INSTANCE_TYPES_AS_OF})")


@CLUSTER.rule(
    "CLU-014",
    "Names of groups differ in more than upper and lower case",
    why="People and tools that do not look at case take one group for the other.",
    fix="rename one of the two",
    source=GROUP_SPECIFICATION,
    severity=Severity.WARNING,
)
def _names_differ_in_letters(resolved: Resolved) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for group in resolved.groups:
        other = first.setdefault(group.name.lower(), group.name)
        if other != group.name:
            yield Finding((*group.path, "name"), f"'{group.name}' is nearly called '{other}'")


@CLUSTER.rule(
    "CLU-015",
    "The controller is large enough for the nodes",
    why="slurmctld answers every node and every command, and keeps all jobs in memory. AWS "
    f"ParallelCluster refuses head nodes with less than a GiB for {NODES_PER_GIB} nodes, up to "
    f"{GIB_FOR_ANY_CLUSTER} GiB; what MariaDB takes for job records is not counted there. AWS PCS "
    f"has a larger controller for more than {NODES_OF_A_SMALL_CONTROLLER} nodes. Types such as "
    "ml.t3 have 20 to 40% of their CPUs once their credits are spent.",
    fix=f"choose a type with {GIB_FOR_ANY_CLUSTER} GiB or more that is not burstable, such as "
    "ml.m5.xlarge",
    source="https://github.com/aws/aws-parallelcluster/pull/6623",
    severity=Severity.WARNING,
    reads=("cluster", "slurm"),
)
def _controller_is_large_enough(resolved: Resolved) -> Iterator[Finding]:
    nodes = sum(group.count for group in resolved.groups_with(Role.WORKER))
    needed = min(nodes / NODES_PER_GIB + GIB_OF_THE_SYSTEM, GIB_FOR_ANY_CLUSTER)
    has_database = resolved.slurm.accounting and resolved.database is None
    programs = "slurmctld, slurmdbd and MariaDB" if has_database else "slurmctld"
    for group in resolved.groups_with(Role.CONTROLLER):
        for facts in known_types(group):
            gib = facts.memory_mib / 1024
            is_throttled = (
                family_of(facts.name) in BURSTABLE and nodes > NODES_OF_A_SMALL_CONTROLLER
            )
            if is_throttled or gib < needed:
                cpus = f"{facts.vcpus} burstable CPUs" if is_throttled else f"{facts.vcpus} CPUs"
                message = f"{programs} for {nodes} nodes run on {facts.name}: {cpus}, {gib:g} GiB"
                yield Finding((*group.path, "instance_type"), message)
