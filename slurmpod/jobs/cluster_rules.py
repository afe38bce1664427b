"""Rules that check a script against the cluster of an environment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from slurmpod.environment.cluster import Role
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.jobs.allocation import most_nodes
from slurmpod.jobs.demand import demand_of
from slurmpod.jobs.environment_rules import EFA_VARIABLES
from slurmpod.jobs.partitions import asked_partitions, kinds_of_workers
from slurmpod.jobs.registry import ClusterTopic, ScriptFinding
from slurmpod.jobs.script import Script
from slurmpod.jobs.shell import Place
from slurmpod.problems import Severity
from slurmpod.resolve.resolved import ALL_NODES_PARTITION, Resolved
from slurmpod.resolve.slurm import NORMAL, ROOT, enforces_limits

CLUSTER = ClusterTopic("JOB", "The cluster of an environment (--env)")

SBATCH = "https://slurm.schedmd.com/sbatch.html"
CHOOSING = ("gres", "gpus", "gpus-per-node", "nodelist", "exclude", "constraint")
"""Options with which a job says what nodes it takes: there is no GPU that Slurm knows on others."""


OF_INTERFACES = frozenset({"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"})
OF_OTHERS = re.compile(r"=?(eth|ib)[0-9]*(?:,|$)", re.ASCII)
"""Names of interfaces that machines elsewhere have: Ethernet's of old, and InfiniBand's."""

WITHOUT_EFA = {"NCCL_NET": ("socket",), "FI_PROVIDER": ("sockets", "tcp", "udp")}
CHECKPOINTS = re.compile(
    r"(?:checkpoint|ckpt)[\w.-]*[=\s]+"
    r"(/(?:opt/(?:dlami/nvme|sagemaker)|tmp|var/tmp|dev/shm|scratch|local|nvme)(?:/[^\s'\"]*)?)",
    re.IGNORECASE,
)
"""Mount points of the nodes' local disks and memory."""


@CLUSTER.rule(
    "JOB-040",
    "The partition exists",
    why="Slurm refuses a job for a partition that does not exist.",
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
    "The partition has enough nodes",
    why="A job that asks for more nodes than its partition has, or gives to one job, never runs.",
    fix="ask for fewer nodes, or give the group a higher count",
    source=f"{SBATCH}#OPT_nodes",
)
def _nodes_are_there(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    option, wanted = script.option("nodes"), demand_of(script).fewest_nodes
    sizes = {name: most_nodes(resolved, name) for name in asked_partitions(script, resolved)}
    if option and wanted and 0 < max(sizes.values()) < wanted:
        offered = ", ".join(f"{name} gives {size}" for name, size in sizes.items())
        yield ScriptFinding(option.place, f"the job asks for {wanted} nodes, but {offered}")


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
    "EFA is required only on types with EFA",
    why="With FI_PROVIDER=efa libfabric uses nothing else. On an instance type without EFA the job "
    "ends at once.",
    fix="remove FI_PROVIDER, or use an instance type with EFA",
    source=EFA_VARIABLES,
)
def _efa_is_there(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    kinds = kinds_of_workers(script, resolved)
    if not kinds or any(facts is None or facts.efa_interfaces for facts in kinds.values()):
        return
    types = ", ".join(sorted(kinds))
    for assignment in script.assignments:
        if assignment.name == "FI_PROVIDER" and assignment.value == "efa":
            yield ScriptFinding(assignment.place, f"{types} has no EFA")


@CLUSTER.rule(
    "JOB-048",
    "Network interfaces exist",
    why="Nodes with several network cards name their interfaces enp*: there is no eth0, and EC2 "
    "has no InfiniBand (ib0). NCCL and Gloo find no interface, and the job ends.",
    fix="write ^docker,lo, or leave the variable out",
    source="https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-socket-ifname",
    severity=Severity.WARNING,
)
def _interface_is_there(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    kinds = kinds_of_workers(script, resolved)
    has_others = [facts is not None and facts.network_cards > 1 for facts in kinds.values()]
    for each in script.assignments if kinds else ():
        match = OF_OTHERS.match(each.value) if each.name in OF_INTERFACES else None
        if match and (match[1] == "ib" or all(has_others)):
            message = f"{each.name} is {each.value}, which {', '.join(sorted(kinds))} does not have"
            yield ScriptFinding(each.place, message)


@CLUSTER.rule(
    "JOB-049",
    "EFA is used on types with EFA",
    why="With these values NCCL and libfabric use TCP: nodes with EFA train at a fraction of their "
    "speed.",
    fix="remove it: AWS's NCCL plugin chooses EFA by itself",
    source=EFA_VARIABLES,
    severity=Severity.WARNING,
)
def _efa_is_used(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    kinds = kinds_of_workers(script, resolved)
    have_efa = [facts is not None and facts.efa_interfaces for facts in kinds.values()]
    if not kinds or not all(have_efa) or script.is_on_one_node:
        return
    for each in script.assignments:
        if each.value.lower() in WITHOUT_EFA.get(each.name, ()):
            message = f"{each.name}={each.value} takes EFA away from {', '.join(sorted(kinds))}"
            yield ScriptFinding(each.place, message)


@CLUSTER.rule(
    "JOB-046",
    "The output of a job is on shared storage",
    why="The output is written by the job's first node. A folder that nodes do not share is on "
    "that node's disk: the login node does not see it, and it is lost when the node is replaced.",
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
    "Jobs avoid login nodes",
    why=f"HyperPod puts every node into the partition {ALL_NODES_PARTITION}, login nodes, too. A "
    "job without GPUs may get one, and slows down everyone who works there.",
    fix="name a partition of a worker group",
    source="https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-operate-slurm.html",
    severity=Severity.WARNING,
)
def _keeps_off_login_nodes(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    login = [group for group in resolved.groups_with(Role.LOGIN) if group.count]
    chosen = [name for name in CHOOSING if script.option(name)]
    if not login or chosen or ALL_NODES_PARTITION not in asked_partitions(script, resolved):
        return
    option = script.option("partition")
    message = f"partition {ALL_NODES_PARTITION} has the login nodes of '{login[0].name}', too"
    if not option:
        message = f"the job names no partition, and {message}"
    yield ScriptFinding(option.place if option else Place(script.line, 1), message)


@CLUSTER.rule(
    "JOB-059",
    "Checkpoints of a job that resumes are on shared storage",
    why="The disk of a node is gone when the node is replaced, and the checkpoints with it: the "
    "job begins again from zero.",
    fix="write them below a shared file system, or copy them there from the node's disk",
    source="slurmpod/resolve/storage.py",
    severity=Severity.WARNING,
)
def _checkpoints_are_shared(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    if not script.resuming_steps and not script.option("requeue"):
        return
    texts = [(each.place, f"{each.name}={each.value}") for each in script.assignments]
    texts += [(each.place, " ".join(w.text for w in each.command)) for each in script.steps]
    for place, text in texts:
        match = CHECKPOINTS.search(text)
        if match and not is_shared(resolved, match[1]):
            yield ScriptFinding(place, f"checkpoints in {match[1]} are on a node's own disk")


def is_shared(resolved: Resolved, path: str) -> bool:
    """Return whether an absolute path is on shared storage."""
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
    if not option or not enforces_limits(resolved):
        return
    for value in option.value.split(",") if name == "qos" else (option.value,):
        if value.lower() not in known:
            message = f"there is no {name} '{value}' (there are: {', '.join(known)})"
            yield ScriptFinding(option.place, message, did_you_mean(value, known))
