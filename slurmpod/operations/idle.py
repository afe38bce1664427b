"""Nodes that no job has now: since when, and what they cost meanwhile."""

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
"""Keeps the name of each node without a job, and when its last one ended; where none has run yet,
when the node registered (scontrol, LastBusyTime)."""


@dataclass(frozen=True)
class IdleGroup:
    """The idle ones of the `count` nodes of a group of workers.

    `since` is when the first of them became so; `usd_per_hour` is of all of them, None if unknown.
    """

    group: str
    nodes: tuple[str, ...]
    count: int
    since: datetime | None
    usd_per_hour: Decimal | None

    @property
    def rest(self) -> int:
        """How many nodes the group has left without them."""
        return self.count - len(self.nodes)


def idle_command() -> str:
    """Return what a controller's shell has to do to find the nodes; it only reads."""
    return f"TZ=UTC timeout {SECONDS} scontrol --oneliner show nodes | awk {_IDLE_NODES}"


def read_idle(answer: str) -> dict[str, datetime]:
    """Read what `idle_command` printed: since when each node is idle; other lines say nothing."""
    return dict(_moments(answer.splitlines()))


def _moments(lines: Iterable[str]) -> Iterator[tuple[str, datetime]]:
    for line in lines:
        when = value_of(line, "LastBusyTime")
        try:
            yield value_of(line, "NodeName"), datetime.fromisoformat(when).replace(tzinfo=UTC)
        except ValueError:  # Unknown or None, of a node that has never registered
            continue


def idle_groups(
    idle: Mapping[str, datetime],
    nodes: Sequence[Node],
    usd_per_hour: Mapping[str, Decimal | None],
) -> tuple[IdleGroup, ...]:
    """Return the groups with idle nodes; `usd_per_hour` has a price for each group of workers."""
    groups = (_idle_group(group, idle, nodes, usd) for group, usd in usd_per_hour.items())
    return tuple(group for group in groups if group.nodes)


def _idle_group(
    group: str, idle: Mapping[str, datetime], nodes: Sequence[Node], usd: Decimal | None
) -> IdleGroup:
    members = [node.name for node in nodes if node.group == group]
    free = tuple(sorted(name for name in members if name in idle))
    since = min((idle[name] for name in free), default=None)
    return IdleGroup(group, free, len(members), since, None if usd is None else usd * len(free))
