"""Rules for partitions and their limits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slurmpod.environment.cluster import Role
from slurmpod.environment.slurm_limits import Partition
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.problems import Severity, YamlPath
from slurmpod.resolve import Resolved
from slurmpod.resolve.resolved import ALL_NODES_PARTITION
from slurmpod.resolve.slurm import NORMAL
from slurmpod.rules.registry import LIFECYCLE_MODE, Area, Finding
from slurmpod.rules.shared_findings import listed_twice

SLURM = Area("SLU", "Slurm", reads=("cluster",))

SLURM_CONFIGURATION = (
    "https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_ClusterSlurmConfig.html"
)

TAKEN_PARTITIONS = {
    ALL_NODES_PARTITION: "HyperPod puts every node in it",
    "hyperpod-system-maintenance": "HyperPod checks nodes in it",
    "default": "slurm.conf sets the defaults of all partitions with it",
}
"""Names in lower case, and who has them (hyperpod-slurm guide; slurm.conf(5), PartitionName)."""


@SLURM.rule(
    "SLU-001",
    "Every worker group has a partition",
    why="Jobs reach the nodes of a group through its partition; HyperPod refuses a worker group "
    "without one.",
    fix="add a partition, such as 'partition: cpu'",
    source=SLURM_CONFIGURATION,
)
def _workers_have_a_partition(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        if group.role is Role.WORKER and not group.partition:
            path = (*group.path, "partition")
            yield Finding(path, f"the worker group '{group.name}' has no partition")


@SLURM.rule(
    "SLU-002",
    "Only worker groups have a partition",
    why="HyperPod refuses partitions on the controller and on login nodes: jobs do not run there.",
    fix="remove the partition",
    source=SLURM_CONFIGURATION,
)
def _others_have_none(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        if group.role is not Role.WORKER and group.partition:
            path = (*group.path, "partition")
            yield Finding(path, f"a {group.role} group cannot be in a partition", at_key=True)


@SLURM.rule(
    "SLU-003",
    "No partition has a name that is taken",
    why="HyperPod adds its own partitions to slurm.conf, and Slurm accepts each name only once.",
    fix="choose another name, for example that of the instance type: p5, trn1, cpu",
    source="https://slurm.schedmd.com/slurm.conf.html",
)
def _partition_is_free(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        reason = TAKEN_PARTITIONS.get((group.partition or "").lower())
        if reason and group.role is Role.WORKER:
            path = (*group.path, "partition")
            yield Finding(path, f"the partition '{group.partition}' is taken: {reason}")


PARTITIONS = Area("PAR", "Limits of partitions", reads=("slurm",))

SLURM_CONF = "https://slurm.schedmd.com/slurm.conf.html"
PARTITION_LINES = f"{SLURM_CONF}#SECTION_PARTITION-CONFIGURATION"
HYPERPOD_REFERENCE = (
    "https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-ref.html"
    "#sagemaker-hyperpod-ref-slurm-configuration"
)


@PARTITIONS.rule(
    "PAR-001",
    "A partition with limits has nodes",
    why="HyperPod makes the partitions that groups name, and 'dev' with all nodes. Limits of "
    "another one would be limits of nothing.",
    fix="name a partition that a worker group has",
    source=HYPERPOD_REFERENCE,
    reads=("cluster", "slurm"),
)
def _partition_exists(resolved: Resolved) -> Iterator[Finding]:
    known = [group.partition for group in resolved.groups if group.partition]
    for path, partition in _partitions(resolved):
        if partition.name not in {*known, ALL_NODES_PARTITION}:
            message = f"no group is in the partition '{partition.name}'"
            free = {*known, ALL_NODES_PARTITION} - {each.name for _, each in _partitions(resolved)}
            hint = did_you_mean(partition.name, sorted(free))
            yield Finding((*path, "name"), message, hint)


@PARTITIONS.rule(
    "PAR-002",
    "The limits of a partition are in one place",
    why="The later entry would take back what the earlier one says.",
    fix="merge the two entries",
    source=PARTITION_LINES,
)
def _listed_once(resolved: Resolved) -> Iterator[Finding]:
    return listed_twice(resolved.slurm.partitions, "slurm", "partitions")


@PARTITIONS.rule(
    "PAR-003",
    "At most one partition is the default",
    why="Slurm has one partition for jobs that name none; which of two it took would depend on "
    "their order.",
    fix="keep 'default: true' in one entry",
    source=f"{SLURM_CONF}#OPT_Default",
)
def _one_default(resolved: Resolved) -> Iterator[Finding]:
    defaults = [(path, each) for path, each in _partitions(resolved) if each.default]
    for path, partition in defaults[1:]:
        message = f"'{defaults[0][1].name}' is the default already, not '{partition.name}'"
        yield Finding((*path, "default"), message)


@PARTITIONS.rule(
    "PAR-004",
    "The default time is not above the longest",
    why="A job that asks for no time would get one that the partition refuses, and wait for ever "
    "(reason PartitionTimeLimit).",
    fix="lower default_time, or raise max_time",
    source=f"{SLURM_CONF}#OPT_DefaultTime",
)
def _default_time_fits(resolved: Resolved) -> Iterator[Finding]:
    for path, partition in _partitions(resolved):
        default, longest = seconds(partition.default_time), seconds(partition.max_time)
        if default is not None and longest is not None and default > longest:
            message = f"{partition.default_time} is longer than max_time {partition.max_time}"
            yield Finding((*path, "default_time"), message)


@PARTITIONS.rule(
    "PAR-005",
    "No time limit is zero",
    why="Slurm takes 0 for a limit, not for none: no job could run.",
    fix="write UNLIMITED, or remove the key",
    source=f"{SLURM_CONF}#OPT_MaxTime",
)
def _no_time_is_zero(resolved: Resolved) -> Iterator[Finding]:
    times = [
        ((*path, key), getattr(partition, key))
        for path, partition in _partitions(resolved)
        for key in ("max_time", "default_time")
    ]
    times += [
        (("slurm", "qos", index, "max_time"), qos.max_time)
        for index, qos in enumerate(resolved.slurm.qos)
    ]
    for path, time in times:
        if time is not None and seconds(time) == 0:
            yield Finding(path, f"no job runs within {time}")


@PARTITIONS.rule(
    "PAR-006",
    "A limit of nodes is below what the partition has",
    why="A limit that no job can reach does nothing.",
    fix="lower max_nodes, or remove it",
    source=f"{SLURM_CONF}#OPT_MaxNodes",
    severity=Severity.WARNING,
    reads=("cluster", "slurm"),
)
def _max_nodes_is_reachable(resolved: Resolved) -> Iterator[Finding]:
    for path, partition in _partitions(resolved):
        nodes = _nodes(resolved, partition.name)
        if partition.max_nodes is not None and partition.max_nodes > nodes > 0:
            message = f"'{partition.name}' has {nodes} nodes, fewer than {partition.max_nodes}"
            yield Finding((*path, "max_nodes"), message)


@PARTITIONS.rule(
    "PAR-007",
    "Limits of a partition hold in 'dev' too",
    why="HyperPod puts every node into the partition 'dev' as well, which is the default and has "
    "no limits: jobs get round those of another partition there.",
    fix="give 'dev' limits too, for example an entry with 'name: dev' and max_time",
    source=HYPERPOD_REFERENCE,
    severity=Severity.WARNING,
    reads=("slurm", *LIFECYCLE_MODE),
)
def _dev_is_limited(resolved: Resolved) -> Iterator[Finding]:
    partitions = list(_partitions(resolved))
    if resolved.lifecycle.mode == "managed":
        return
    if any(each.name == ALL_NODES_PARTITION and _limits(each) for _, each in partitions):
        return
    for path, partition in partitions:
        if partition.name != ALL_NODES_PARTITION and (limits := _limits(partition)):
            message = f"{limits[0]} of '{partition.name}' does not hold for its nodes in 'dev'"
            yield Finding((*path, limits[0]), message, at_key=True)
            return


@PARTITIONS.rule(
    "PAR-008",
    "A partition takes a QOS that jobs have by default",
    why="A job that names no QOS has the default of its account. Where the partition does not "
    "take that, the job waits for ever.",
    fix="add 'normal' to allowed_qos, or give the accounts another default_qos",
    source=f"{SLURM_CONF}#OPT_AllowQos",
    severity=Severity.WARNING,
)
def _default_qos_is_taken(resolved: Resolved) -> Iterator[Finding]:
    accounts = resolved.slurm.accounts
    defaults = {account.default_qos for account in accounts} - {None}
    defaults |= {account.qos[0] for account in accounts if account.qos and not account.default_qos}
    for path, partition in _partitions(resolved):
        if partition.allowed_qos and not {NORMAL, *defaults} & set(partition.allowed_qos):
            message = f"'{partition.name}' takes no QOS that a job has unless it names one"
            yield Finding((*path, "allowed_qos"), message, at_key=True)


def seconds(time: str | None) -> int | None:
    """Return a time limit in seconds; None for none, or UNLIMITED."""
    if time is None or time == "UNLIMITED":
        return None
    days, clock = time.split("-") if "-" in time else ("0", time)
    hours, minutes, rest = map(int, re.split(":", clock))
    return int(days) * 86_400 + hours * 3600 + minutes * 60 + rest


def _partitions(resolved: Resolved) -> Iterator[tuple[YamlPath, Partition]]:
    for index, partition in enumerate(resolved.slurm.partitions):
        yield ("slurm", "partitions", index), partition


def _nodes(resolved: Resolved, partition: str) -> int:
    """Return how many nodes can run jobs in a partition; `dev` has those of all."""
    return sum(
        group.count
        for group in resolved.groups
        if group.role is Role.WORKER and partition in {group.partition, ALL_NODES_PARTITION}
    )


def _limits(partition: Partition) -> list[str]:
    """Return the keys that keep jobs out of a partition."""
    keys = ("max_time", "max_nodes", "qos", "allowed_accounts", "allowed_qos")
    return [key for key in keys if getattr(partition, key) not in {None, (), "UNLIMITED"}]
