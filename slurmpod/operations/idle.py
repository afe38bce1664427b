"""Nodes without jobs: since when, and their cost meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from slurmpod.aws.cluster import Node
from slurmpod.slurm.fields import value_of

IDLE = "idle"
SECONDS = 20
_IDLE_NODES = r"""'/ CPUAlloc=0 / {
  for (i = 1; i <= NF; i++) if ($i ~ /^(NodeName|LastBusyTime)=/) printf "%s ", $i
  print ""
}'"""
"""Keeps the name of each node without a job, and the end of its last one; before its first one,
when the node registered (scontrol, LastBusyTime)."""


@dataclass(frozen=True)
class IdleGroup:
    """The idle ones of the `count` nodes of a worker group.

    `since` is when the first of them became idle; `usd_per_hour` is for all of them, or None.
    """

    group: str
    nodes: tuple[str, ...]
    count: int
    since: datetime | None
    usd_per_hour: Decimal | None

    @property
    def rest(self) -> int:
        """The number of nodes in the group without them."""
        return self.count - len(self.nodes)


def idle_command() -> str:
    """Return the script that finds the nodes, for a controller; read-only."""
    return f"TZ=UTC timeout {SECONDS} scontrol --oneliner show nodes | awk {_IDLE_NODES}"


def read_idle(answer: str) -> dict[str, datetime]:
    """Read the output of `idle_command`: since when each node is idle; skip other lines."""
    return dict(_moments(answer.splitlines()))


def _moments(lines: Iterable[str]) -> Iterator[tuple[str, datetime]]:
    for line in lines:
        when = value_of(line, "LastBusyTime")
        try:
            yield value_of(line, "NodeName"), datetime.fromisoformat(when).replace(tzinfo=UTC)
        except ValueError:  # Unknown or None, for a node that has never registered
            continue


def idle_groups(
    idle: Mapping[str, datetime],
    nodes: Sequence[Node],
    usd_per_hour: Mapping[str, Decimal | None],
) -> tuple[IdleGroup, ...]:
    """Return the groups with idle nodes; `usd_per_hour` has a price for each worker group."""
    groups = (_idle_group(group, idle, nodes, usd) for group, usd in usd_per_hour.items())
    return tuple(group for group in groups if group.nodes)


def _idle_group(
    group: str, idle: Mapping[str, datetime], nodes: Sequence[Node], usd: Decimal | None
) -> IdleGroup:
    members = [node.name for node in nodes if node.group == group]
    free = tuple(sorted(name for name in members if name in idle))
    since = min((idle[name] for name in free), default=None)
    return IdleGroup(group, free, len(members), since, None if usd is None else usd * len(free))
