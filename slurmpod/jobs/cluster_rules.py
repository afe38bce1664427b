"""Rules that hold a script against the cluster that an environment describes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from slurmpod.environment.catalog import InstanceType
from slurmpod.environment.cluster import Role
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.jobs.allocation import most_nodes
from slurmpod.jobs.environment_rules import EFA_VARIABLES
from slurmpod.jobs.registry import ClusterTopic, ScriptFinding
from slurmpod.jobs.script import Script, Step
from slurmpod.jobs.shell import Place
from slurmpod.problems import Severity
from slurmpod.resolve.resolved import ALL_NODES_PARTITION, Resolved, ResolvedGroup
from slurmpod.resolve.slurm import NORMAL, ROOT, enforces_limits

CLUSTER = ClusterTopic("JOB", "The cluster of an environment (--env)")

SBATCH = "https://slurm.schedmd.com/sbatch.html"
CHOOSING = ("gres", "gpus", "gpus-per-node", "nodelist", "exclude", "constraint")
"""Options with which a job says what nodes it takes: there is no GPU that Slurm knows on others."""

GPUS = re.compile(r"(?:gres/)?gpu(?::[\w.-]+)??(?::([0-9]{1,9}))?", re.ASCII)
GPUS_PER_NODE = re.compile(r"(?:[\w.-]+:)?([0-9]{1,9})", re.ASCII)


@CLUSTER.rule(
    "JOB-040",
    "The partition exists",
    why="Slurm refuses a job for a partition that there is not.",
    fix="name a partition of a worker group",
    source=f"{SBATCH}#OPT_partition",
)
def _partition_exists(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    option = script.option("partition")
    known = {group.partition for group in resolved.groups if group.partition}
    known.add(ALL_NODES_PARTITION)
    for name in option.value.split(",") if option else ():
        if option and name not in known:
            message = f"there is no partition '{name}' (there are: {', '.join(sorted(known))})"
            yield ScriptFinding(option.place, message, did_you_mean(name, sorted(known)))


@CLUSTER.rule(
    "JOB-041",
    "The partition has as many nodes",
    why="A job that asks for more nodes than its partition has, or gives to one job, never runs.",
    fix="ask for fewer nodes, or give the group a higher count",
    source=f"{SBATCH}#OPT_nodes",
)
def _nodes_are_there(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    option, wanted = script.option("nodes"), script.fewest_nodes
    sizes = {name: most_nodes(resolved, name) for name in _partitions(script, resolved)}
    if option and wanted and 0 < max(sizes.values()) < wanted:
        offered = ", ".join(f"{name} gives {size}" for name, size in sizes.items())
        yield ScriptFinding(option.place, f"the job asks for {wanted} nodes, but {offered}")


@CLUSTER.rule(
    "JOB-042",
    "Nodes have as many GPUs",
    why="Slurm refuses a job that asks for more GPUs on a node than any node of its partition has.",
    fix="ask for as many as the instance type has",
    source=f"{SBATCH}#OPT_gres",
)
def _gpus_are_there(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    kinds = _kinds(script, resolved)
    if not kinds or None in kinds.values():
        return
    most = max(map(_gpus, kinds.values()))
    types = ", ".join(sorted(kinds))
    all_asking: list[Script | Step] = [script, *script.steps]
    for asking in all_asking:
        for name in ("gres", "gpus-per-node"):
            option = asking.option(name)
            wanted = _wanted_gpus(name, option.value) if option else 0
            if option and wanted > most:
                message = f"{wanted} GPUs are asked for on a node; {types} has {most or 'none'}"
                yield ScriptFinding(option.place, message)


@CLUSTER.rule(
    "JOB-043",
    "The account exists",
    why="The environment makes Slurm enforce limits: jobs of unknown accounts are refused.",
    fix="name an account of slurm.accounts",
    source="https://slurm.schedmd.com/slurm.conf.html#OPT_AccountingStorageEnforce",
)
def _account_exists(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    known = [ROOT, *(account.name for account in resolved.slurm.accounts)]
    if len(known) > 1:
        yield from _unknown_name(script, resolved, "account", known)


@CLUSTER.rule(
    "JOB-044",
    "The QOS exists",
    why="The environment makes Slurm enforce limits: jobs with an unknown QOS are refused.",
    fix="name a QOS of slurm.qos",
    source="https://slurm.schedmd.com/slurm.conf.html#OPT_AccountingStorageEnforce",
)
def _qos_exists(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    known = [NORMAL, *(qos.name for qos in resolved.slurm.qos)]
    if len(known) > 1:
        yield from _unknown_name(script, resolved, "qos", known)


@CLUSTER.rule(
    "JOB-045",
    "EFA is asked for where there is EFA",
    why="With FI_PROVIDER=efa libfabric uses nothing else. On an instance type without EFA the job "
    "ends at once.",
    fix="remove FI_PROVIDER, or use an instance type with EFA",
    source=EFA_VARIABLES,
)
def _efa_is_there(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    kinds = _kinds(script, resolved)
    if not kinds or any(facts is None or facts.efa_interfaces for facts in kinds.values()):
        return
    types = ", ".join(sorted(kinds))
    for assignment in script.assignments:
        if assignment.name == "FI_PROVIDER" and assignment.value == "efa":
            yield ScriptFinding(assignment.place, f"{types} has no EFA")


@CLUSTER.rule(
    "JOB-046",
    "What a job says lies on shared storage",
    why="The output is written by the job's first node. A folder that nodes do not share is on its "
    "own disk: it is not seen from the login node, and is lost when the node is replaced.",
    fix="write it into a folder on a shared file system",
    source=f"{SBATCH}#OPT_output",
    severity=Severity.WARNING,
)
def _output_is_shared(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    for name in ("output", "error"):
        option = script.option(name)
        path = option.value if option else ""
        is_file = path.startswith("/") and path != "/dev/null"
        if option and is_file and not is_shared(resolved, path):
            yield ScriptFinding(option.place, f"{path} is on a node's own disk")


@CLUSTER.rule(
    "JOB-047",
    "Jobs keep off login nodes",
    why=f"HyperPod puts every node into the partition {ALL_NODES_PARTITION}, login nodes, too. A "
    "job without GPUs may get one, and takes the machine from everybody who works there.",
    fix="name a partition of a worker group",
    source="https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-operate-slurm.html",
    severity=Severity.WARNING,
)
def _keeps_off_login_nodes(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    login = [group for group in resolved.groups_with(Role.LOGIN) if group.count]
    chosen = [name for name in CHOOSING if script.option(name)]
    if not login or chosen or ALL_NODES_PARTITION not in _partitions(script, resolved):
        return
    option = script.option("partition")
    message = f"partition {ALL_NODES_PARTITION} has the login nodes of '{login[0].name}', too"
    if not option:
        message = f"the job names no partition, and {message}"
    yield ScriptFinding(option.place if option else Place(1, 1), message)


def is_shared(resolved: Resolved, path: str) -> bool:
    """Tell whether all nodes see the same at an absolute path."""
    return any(PurePosixPath(path).is_relative_to(mount) for mount in shared_mounts(resolved))


def shared_mounts(resolved: Resolved) -> list[str]:
    """Return where the file systems of an environment are mounted, the main one first.

    Mounted buckets are none: nothing can be appended to what is in them.
    """
    mounts = [each.settings.mount_path for each in resolved.lustre]
    return mounts + ([resolved.openzfs.settings.mount_path] if resolved.openzfs else [])


def _unknown_name(
    script: Script, resolved: Resolved, name: str, known: Iterable[str]
) -> Iterator[ScriptFinding]:
    option = script.option(name)
    if option and enforces_limits(resolved) and option.value.lower() not in known:
        message = f"there is no {name} '{option.value}' (there are: {', '.join(known)})"
        yield ScriptFinding(option.place, message, did_you_mean(option.value, known))


def _partitions(script: Script, resolved: Resolved) -> tuple[str, ...]:
    """Return where the job may run: in what it names, or in the default."""
    option = script.option("partition")
    if option:
        return tuple(option.value.split(","))
    defaults = [partition.name for partition in resolved.slurm.partitions if partition.default]
    return (*defaults, ALL_NODES_PARTITION)[:1]


def _workers(script: Script, resolved: Resolved) -> Iterator[ResolvedGroup]:
    names = _partitions(script, resolved)
    for group in resolved.groups_with(Role.WORKER):
        if ALL_NODES_PARTITION in names or group.partition in names:
            yield group


def _kinds(script: Script, resolved: Resolved) -> dict[str, InstanceType | None]:
    """Return what is known of the instance types that nodes of the job may have, by name."""
    return {
        name: facts
        for each in _workers(script, resolved)
        for name, facts in zip(each.instance_types, each.facts_of_types, strict=True)
    }


def _gpus(facts: InstanceType | None) -> int:
    return facts.accelerator_count if facts and facts.accelerator_kind == "gpu" else 0


def _wanted_gpus(name: str, value: str) -> int:
    """Return the GPUs per node in `--gres=gpu:h100:8` or `--gpus-per-node=8`; 0 for others."""
    pattern = GPUS if name == "gres" else GPUS_PER_NODE
    matches = [pattern.fullmatch(part) for part in value.split(",")]
    return sum(int(match[1] or 1) for match in matches if match)
