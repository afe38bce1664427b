"""The current state of a node in SageMaker, in Slurm, and on the node itself. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from slurmpod.aws.cluster import Node
from slurmpod.environment.cluster import Role
from slurmpod.operations.why.node_lines import (
    STATE,
    moment_of,
    setting,
    starts_on_node,
    zone_of,
)
from slurmpod.operations.why.own_facts import OWN, OwnFacts, read_own
from slurmpod.slurm.fields import value_of
from slurmpod.slurm.nodes import OUT_OF_SERVICE, SlurmNode, read_node


@dataclass(frozen=True)
class NodeNow:
    """The current state of a node from all sources.

    `line` is from scontrol; `live` is None for an instance that SageMaker does not list;
    `starts` has, for each recent job on it, whether it could be started at all,
    `is_checked` whether a deep health check is under way.
    """

    name: str
    role: Role
    line: str
    flags: frozenset[str]
    reason: str
    who: str
    live: Node | None
    own: OwnFacts | None
    now: datetime
    gpus: int = 0
    slurmd_timeout: str = ""
    starts: tuple[bool, ...] = ()
    is_checked: bool = False

    @property
    def is_out(self) -> bool:
        """Whether its state in Slurm keeps jobs from starting on it."""
        return bool(self.flags & OUT_OF_SERVICE)


def read_node_now(
    name: str,
    role: Role,
    live: Node | None,
    slurm: Mapping[str, str],
    own: Mapping[str, str],
    now: datetime,
) -> NodeNow:
    """Read the answers of a controller and of the node itself; either may be empty."""
    line = slurm.get(STATE, "")
    node = read_node(line) or SlurmNode(name, frozenset())
    return NodeNow(
        name=name,
        role=role,
        line=line,
        flags=node.state,
        reason=node.reason,
        who=node.who,
        live=live,
        own=read_own(own[OWN]) if OWN in own else None,
        now=now,
        gpus=node.gpus,
        slurmd_timeout=setting(slurm, "SlurmdTimeout"),
        starts=tuple(_starts(line, slurm)),
    )


def _starts(line: str, slurm: Mapping[str, str]) -> Iterator[bool]:
    """Yield which jobs could be started since slurmd runs: a new slurmd has a clean record."""
    runs_since = moment_of(value_of(line, "SlurmdStartTime"), zone_of(slurm))
    for end, started in starts_on_node(slurm):
        if runs_since is None or end >= runs_since:
            yield started


def shown_state(node: NodeNow) -> str:
    """Return Slurm's state of a node with its reason, from scontrol."""
    reason = value_of(node.line, "Reason")
    return f"{value_of(node.line, 'State')}{': ' if reason else ''}{reason}"
