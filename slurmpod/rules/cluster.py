"""Rules for the instance groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.model.catalog import instance_types
from slurmpod.model.cluster import Role
from slurmpod.model.suggestion import did_you_mean
from slurmpod.problems import Severity
from slurmpod.rules.registry import Area, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.problems import YamlPath
    from slurmpod.resolve import Resolved

CLUSTER = Area("CLU", "Instance groups")

SLURM_GUIDE = (
    "https://docs.aws.amazon.com/sagemaker/latest/dg/"
    "sagemaker-hyperpod-lifecycle-best-practices-slurm.html"
)
GROUP_SPECIFICATION = (
    "https://docs.aws.amazon.com/sagemaker/latest/APIReference/"
    "API_ClusterInstanceGroupSpecification.html"
)
CATALOG = "slurmpod/data/instance_types.csv"

GROUPS = ("cluster", "groups")
SMALLEST_VOLUME_GIB = 20


@CLUSTER.rule(
    "CLU-001",
    "Exactly one group is the controller",
    why="HyperPod runs slurmctld on the one controller group and refuses clusters with none or "
    "several.",
    fix="give exactly one group the role controller",
    source=SLURM_GUIDE,
)
def _one_controller(environment: Environment, _: Resolved) -> Iterator[Finding]:
    controllers = _indexes(environment, Role.CONTROLLER)
    if not controllers:
        yield Finding(GROUPS, "no group has the role controller", at_key=True)
    for index in controllers[1:]:
        first = environment.cluster.groups[controllers[0]].name
        yield Finding(_at(index, "role"), f"'{first}' is the controller already")


@CLUSTER.rule(
    "CLU-002",
    "The controller is one node",
    why="A controller group with several nodes needs a shared state folder and an external "
    "database, which slurmpod does not set up.",
    fix="write 1, or remove the key",
    source=SLURM_GUIDE,
)
def _one_controller_node(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index in _indexes(environment, Role.CONTROLLER):
        count = environment.cluster.groups[index].count
        if count != 1:
            yield Finding(_at(index, "count"), f"the controller cannot have {count} nodes")


@CLUSTER.rule(
    "CLU-003",
    "At most one group is for logins",
    why="HyperPod refuses a Slurm cluster with several login groups.",
    fix="merge the login groups into one with a larger count",
    source=SLURM_GUIDE,
)
def _one_login(environment: Environment, _: Resolved) -> Iterator[Finding]:
    logins = _indexes(environment, Role.LOGIN)
    for index in logins[1:]:
        first = environment.cluster.groups[logins[0]].name
        yield Finding(_at(index, "role"), f"'{first}' is the login group already")


@CLUSTER.rule(
    "CLU-004",
    "At least one group has workers",
    why="Without workers Slurm has no node to run a job on. A worker group may have no nodes for "
    "a while: count 0.",
    fix="add a group with the role worker",
    source=SLURM_GUIDE,
)
def _some_workers(environment: Environment, _: Resolved) -> Iterator[Finding]:
    if not _indexes(environment, Role.WORKER):
        yield Finding(GROUPS, "no group has the role worker", at_key=True)


@CLUSTER.rule(
    "CLU-005",
    "No two groups have the same name",
    why="Instance groups are told apart by name, by HyperPod and by every script on the nodes.",
    fix="rename one of the two",
    source=GROUP_SPECIFICATION,
)
def _names_differ(environment: Environment, _: Resolved) -> Iterator[Finding]:
    seen: set[str] = set()
    for index, group in enumerate(environment.cluster.groups):
        if group.name in seen:
            yield Finding(_at(index, "name"), f"a group '{group.name}' stands above already")
        seen.add(group.name)


@CLUSTER.rule(
    "CLU-006",
    "HyperPod offers the instance type",
    why="CreateCluster accepts a fixed list of types, fewer than EC2 has.",
    fix="choose a type of the list",
    source=CATALOG,
)
def _instance_type_is_known(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        if group.instance_type not in instance_types():
            message = f"HyperPod has no instance type '{group.instance_type}'"
            guess = did_you_mean(group.instance_type, instance_types())
            fix = f"{guess} all types are in {CATALOG}".strip()
            yield Finding(_at(index, "instance_type"), message, fix)


@CLUSTER.rule(
    "CLU-007",
    "Controller and login nodes have no accelerators",
    why="They run no jobs: accelerators there cost much and idle.",
    fix="choose a type without accelerators, such as ml.m5.xlarge",
    source=CATALOG,
    severity=Severity.WARNING,
)
def _no_idle_accelerators(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(resolved.groups):
        if group.role is not Role.WORKER and group.facts and group.facts.accelerator_count:
            facts = group.facts
            what = f"{facts.accelerator_count} x {facts.accelerator}"
            message = f"the {group.role} has {what} that no job will use"
            yield Finding(_at(index, "instance_type"), message)


@CLUSTER.rule(
    "CLU-008",
    "The instance type can run that many threads per core",
    why="Types without simultaneous multithreading have one thread per core, and EC2 refuses two.",
    fix="write 1, or remove the key",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/cpu-options-supported-instances-values.html",
)
def _threads_per_core(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        facts = resolved.groups[index].facts
        threads = group.threads_per_core
        if facts and threads and threads not in facts.valid_threads_per_core:
            message = f"{group.instance_type} cannot run {threads} threads per core"
            yield Finding(_at(index, "threads_per_core"), message)


@CLUSTER.rule(
    "CLU-009",
    "Broken accelerator nodes are replaced",
    why="With node_recovery None a node with a broken accelerator stays, and a job with "
    "--auto-resume waits for it in vain.",
    fix="write Automatic, or remove the key",
    source="https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-resiliency-slurm.html",
    severity=Severity.WARNING,
)
def _node_recovery(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    accelerated = [
        group.name for group in resolved.groups if group.facts and group.facts.accelerator_count
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
def _login_has_a_node(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index in _indexes(environment, Role.LOGIN):
        if not environment.cluster.groups[index].count:
            yield Finding(_at(index, "count"), "the login group has no node to log in to")


@CLUSTER.rule(
    "CLU-011",
    "An additional volume has room for container images",
    why="The volume at /opt/sagemaker is for container images and their layers; one image with "
    "PyTorch and CUDA takes 10 to 20 GiB unpacked.",
    fix="write 20 or more (100 leaves room for several images), or remove the key",
    source="https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_ClusterEbsVolumeConfig.html",
    severity=Severity.WARNING,
)
def _volume(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        if group.volume_gib and group.volume_gib < SMALLEST_VOLUME_GIB:
            message = f"{group.volume_gib} GiB hold no container image"
            yield Finding(_at(index, "volume_gib"), message)


def _indexes(environment: Environment, role: Role) -> list[int]:
    groups = environment.cluster.groups
    return [index for index, group in enumerate(groups) if group.role is role]


def _at(index: int, key: str) -> YamlPath:
    return (*GROUPS, index, key)
