"""Nodes with their states in SageMaker and Slurm, grouped by equal states. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from slurmpod.aws.cluster import IN_SERVICE, Node
from slurmpod.environment.cluster import Role
from slurmpod.operations.attempt import Unavailable
from slurmpod.operations.slurm_overview import Overview
from slurmpod.slurm.hostlist import folded
from slurmpod.slurm.nodes import SlurmNode

NOT_IN_SLURM, NOT_ASKED, NO_WORKER = "not in Slurm", "unknown", "-"
GONE = "missing"


@dataclass(frozen=True)
class NodeRow:
    """Nodes of a group with the same state in SageMaker and Slurm.

    `names` is a hostlist; `since` is of the first of them. `message` is SageMaker's, `who` drained
    them in Slurm for the `reason`; `takes_jobs` is whether jobs start on them.
    """

    group: str
    names: str
    count: int
    status: str
    message: str
    slurm: str
    who: str
    since: str
    reason: str
    takes_jobs: bool

    @property
    def is_well(self) -> bool:
        """Whether they need no attention."""
        return self.status == IN_SERVICE and (self.takes_jobs or self.slurm == NO_WORKER)


def node_rows(
    nodes: Sequence[Node], slurm: Overview | Unavailable, roles: Mapping[str, Role]
) -> tuple[NodeRow, ...]:
    """Join the states of each node in SageMaker and Slurm, problems first."""
    alike: dict[NodeRow, list[tuple[str, str]]] = {}
    for node in nodes:
        found = _in_slurm(node.name, slurm, roles.get(node.group, Role.WORKER))
        kind = _kind(node.group, node.status, node.message, found)
        alike.setdefault(kind, []).append((node.name, found.since))
    if isinstance(slurm, Overview):
        known = {node.name for node in nodes}
        for name, found in slurm.nodes.items():
            if name not in known:
                alike.setdefault(_kind("", GONE, "", found), []).append((name, found.since))
    rows = (_with_names(kind, members) for kind, members in alike.items())
    return tuple(sorted(rows, key=lambda row: (row.is_well, row.group, row.names)))


def _kind(group: str, status: str, message: str, found: SlurmNode) -> NodeRow:
    takes_jobs = bool(found.state) and found.takes_jobs
    in_slurm = (found.word, found.who, "", found.reason)
    return NodeRow(group, "", 0, status, message, *in_slurm, takes_jobs)


def _with_names(kind: NodeRow, members: Sequence[tuple[str, str]]) -> NodeRow:
    names, times = zip(*members, strict=True)
    return replace(kind, names=folded(names), count=len(names), since=min(times))


def _in_slurm(name: str, slurm: Overview | Unavailable, role: Role) -> SlurmNode:
    if isinstance(slurm, Overview) and name in slurm.nodes:
        return slurm.nodes[name]
    if role is not Role.WORKER:
        return SlurmNode(name, word=NO_WORKER)
    is_asked = isinstance(slurm, Overview) and not slurm.failure
    return SlurmNode(name, word=NOT_IN_SLURM if is_asked else NOT_ASKED)
