"""slurm.conf and its companions, as HyperPod's cluster agent writes them on the controller.

HyperPod owns the cluster name, the controller, node and partition lines. What the rehearsal adds
so that Slurm runs in namespaces is marked below and listed in docs/fidelity.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slurmpod.rehearsal.slurmctld_log import SLURMCTLD_LOG
from slurmpod.resolve.resolved import ALL_NODES_PARTITION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
