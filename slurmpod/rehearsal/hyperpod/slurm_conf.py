"""slurm.conf as HyperPod writes it, and writes it again when nodes come and go; pure.

The strategies are those of SlurmConfigStrategy (developer guide, migration to the API): Overwrite
replaces everything, Merge and Managed change HyperPod's own entries and keep what else is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from slurmpod.rehearsal.slurmctld_log import SLURMCTLD_LOG
from slurmpod.resolve.resolved import ALL_NODES_PARTITION

SLURM_ETC = "/opt/slurm/etc"
SLURM_CONF = f"{SLURM_ETC}/slurm.conf"
GRES_CONF = f"{SLURM_ETC}/gres.conf"
INCLUDE_ACCOUNTING = "include accounting.conf"


@dataclass(frozen=True)
class Controller:
    """One SlurmctldHost line; the first controller is the primary one."""

    name: str
    address: str


@dataclass(frozen=True)
class SlurmNode:
    """One node line: `ip-a-b-c-d`, its address, what it has, and its group's partition."""

    name: str
    address: str
    cpus: int
    gpus: int
    partition: str | None


@dataclass(frozen=True)
class SlurmLayout:
    """All that slurm.conf says about one cluster; a partition may be without nodes.

    `includes_accounting` is for controllers that HyperPod sets up by itself.
    """

    cluster_name: str
    controllers: tuple[Controller, ...]
    nodes: tuple[SlurmNode, ...]
    partitions: tuple[str, ...]
    includes_accounting: bool


def slurm_files(layout: SlurmLayout) -> Mapping[str, bytes]:
    """Return every configuration file of the controller by its path; slurm.conf is the last."""
    lines = [
        f"ClusterName={layout.cluster_name}",
        *(f"SlurmctldHost={host.name}({host.address})" for host in layout.controllers),
        *_SETTINGS,
        *([INCLUDE_ACCOUNTING] if layout.includes_accounting else []),
        *(_node_line(node) for node in layout.nodes),
        *_partition_lines(layout),
    ]
    return {
        GRES_CONF: _text(_gres_lines(layout.nodes)),
        f"{SLURM_ETC}/cgroup.conf": _text(["CgroupPlugin=disabled"]),  # rehearsal only
        SLURM_CONF: _text(lines),
    }


def partition_members(layout: SlurmLayout) -> Mapping[str, tuple[str, ...]]:
    """Return the names of the nodes of each partition that a group names."""
    return {
        partition: tuple(node.name for node in layout.nodes if node.partition == partition)
        for partition in layout.partitions
    }


_SETTINGS = (
    "SlurmUser=slurm",
    "AuthType=auth/munge",
    "SlurmctldParameters=enable_configless",
    "SchedulerParameters=permit_job_expansion",
    "TaskPlugin=task/none",
    "SelectType=select/cons_tres",
    "SelectTypeParameters=CR_Core",
    "GresTypes=gpu",
    "MpiDefault=none",
    "ReturnToService=2",
    "StateSaveLocation=/var/spool/slurmctld",
    "SlurmdSpoolDir=/var/spool/slurmd",
    f"SlurmctldLogFile={SLURMCTLD_LOG}",
    "SlurmdLogFile=/var/log/slurm/slurmd.log",
    "MailProg=/bin/true",
    # Rehearsal only: the machine has fewer cores than the nodes say, and no cgroup of its own.
    "SlurmdParameters=config_overrides",
    "ProctrackType=proctrack/linuxproc",
)


def _node_line(node: SlurmNode) -> str:
    gres = f" Gres=gpu:{node.gpus}" if node.gpus else ""
    return (
        f"NodeName={node.name} NodeHostname={node.name} NodeAddr={node.address}"
        f" CPUs={node.cpus}{gres} State=CLOUD"
    )


def _partition_lines(layout: SlurmLayout) -> Iterable[str]:
    """Return HyperPod's partition of all nodes, then one per partition that a group names."""
    yield f"PartitionName={ALL_NODES_PARTITION} Nodes=ALL Default=YES MaxTime=INFINITE State=UP"
    for partition, names in partition_members(layout).items():
        nodes = f" Nodes={','.join(names)}" if names else ""
        yield f"PartitionName={partition}{nodes} MaxTime=INFINITE State=UP"


def _gres_lines(nodes: Iterable[SlurmNode]) -> Iterable[str]:
    for node in nodes:
        if node.gpus:
            yield f"NodeName={node.name} Name=gpu File=/dev/nvidia[0-{node.gpus - 1}]"


def _text(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


OVERWRITE = "Overwrite"
MANAGED = "Managed"
_OWNED = ("ClusterName", "SlurmctldHost", "NodeName", "PartitionName")
_ENTRY = re.compile(rf"^\s*({'|'.join(_OWNED)})\s*=\s*(\S+)", re.IGNORECASE)
_NODES = re.compile(r"\sNodes=\S+", re.IGNORECASE)


def rewritten(current: str, wanted: str, strategy: str) -> str:
    """Return the next text of a configuration file from its current text and from HyperPod's.

    Entries of nodes that are gone go, new ones come last; a partition that only the file has
    stays, and what somebody added to an entry of HyperPod's, such as a time limit, does too.
    """
    if strategy == OVERWRITE:
        return wanted
    entries = _entries(wanted)
    kept = []
    for line in current.splitlines():
        key = _key(line)
        if key is None:
            kept.append(line)
        elif key in entries:
            kept.append(_with_nodes_of(line, entries.pop(key)))
        elif key[0] == "partitionname":
            kept.append(line)
    return "".join(f"{line}\n" for line in [*kept, *entries.values()])


def partition_drift(current: str, expected: Mapping[str, tuple[str, ...]]) -> str:
    """Return how the partitions in slurm.conf differ from those expected; empty if they do not.

    HyperPod does not look at any other difference.
    """
    found = {}
    for line in current.splitlines():
        key = _key(line)
        if key and key[0] == "partitionname" and key[1] != ALL_NODES_PARTITION:
            nodes = _NODES.search(line)
            names = nodes.group().partition("=")[2].split(",") if nodes else []
            found[key[1]] = tuple(names)
    unknown = sorted(found.keys() - expected.keys())
    if unknown:
        return f"no instance group defines the partition {', '.join(unknown)}"
    different = sorted(name for name in expected if set(found.get(name, ())) != set(expected[name]))
    return f"other nodes are in the partition {', '.join(different)}" if different else ""


def _entries(text: str) -> dict[tuple[str, str], str]:
    return {key: line for line in text.splitlines() if (key := _key(line))}


def _key(line: str) -> tuple[str, str] | None:
    """Return which of HyperPod's entries a line is, None when it is somebody else's."""
    match = _ENTRY.match(line)
    if match is None:
        return None
    keyword = match.group(1).lower()
    return keyword, "" if keyword == "clustername" else match.group(2)


def _with_nodes_of(line: str, wanted: str) -> str:
    """Return a partition's line with the nodes that are wanted now; other lines as they are."""
    if _key(line) != _key(wanted) or "PartitionName" not in wanted:
        return line
    match = _NODES.search(wanted)
    nodes = match.group() if match else ""
    if _NODES.search(line):
        return _NODES.sub(lambda _: nodes, line)
    return f"{line.rstrip()}{nodes}"
