"""A node's reports to Slurm through scontrol: only about itself, never over others' reasons.

A fault that all nodes see, because the catalog is wrong about their type or an image has changed,
must not take a whole partition out of service. So a node that has drained itself looks at the
others, and undoes the drain if more than half of a partition's nodes have drained themselves. Each
node checks its own drain: however many do so at once, the last one sees all the others, and no more
than half remain drained. If that check gets no answer, the drain stays until the node's next check,
which repeats it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from slurmpod_health.node_state import CHECK, PREFIX, NodeState, read_state
from slurmpod_health.probe import ProbeFailed, ProbeTimedOut, probe

PROGRAM = "/opt/slurm/bin/scontrol"
SECONDS = 3.0
"""The time limit of one call."""

SECONDS_OF_ALL = 12.0
"""The time limit of all calls of a run together.

The slowest checks before them take 4 s, which makes 16 s; the program around both is killed after
20 s, as a starting job waits for it. The rest is for Python to start on a slow node.
"""


@dataclass(frozen=True)
class Scontrol:
    """The scontrol calls of one run, with a deadline on the monotonic clock in seconds."""

    deadline: float

    @classmethod
    def starting_now(cls) -> Scontrol:
        """Return an instance whose deadline starts now."""
        return cls(time.monotonic() + SECONDS_OF_ALL)

    def __call__(self, *words: str) -> str:
        """Return scontrol's output; raises ProbeFailed, also after the deadline."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise ProbeTimedOut(f"no answers within {SECONDS_OF_ALL:g} s")
        return probe(PROGRAM, *words, seconds=min(SECONDS, left))


def state_of(scontrol: Scontrol, node: str) -> NodeState:
    """Return a node's state; raises ProbeFailed."""
    return parse_state(scontrol("--oneliner", "show", "node", node))


def parse_state(description: str) -> NodeState:
    """Read the output of `scontrol --oneliner show node`; raises ProbeFailed if it has no state.

    An unknown node must not look like one that shares no partition with others.
    """
    state = read_state(description)
    if state is None:
        raise ProbeFailed(f"scontrol shows no state: '{description.strip()}'")
    return state


def drain(scontrol: Scontrol, node: str, reason: str) -> bool:
    """Drain a node; return whether it is drained without exceeding half of its partition.

    A node that is being replaced or rebooted already has a state and a reason, which stay, as does
    the finding of a check of idle nodes. Raises ProbeFailed if Slurm does not answer: then it is
    unknown whether the node is out of service.
    """
    state = state_of(scontrol, node)
    if not (state.takes_jobs or state.is_drained_by_us):
        return True
    if state.is_drained_by_check and not reason.startswith(CHECK):
        return True
    scontrol("update", f"nodename={node}", "state=drain", f"reason={PREFIX}{reason}")
    try:
        is_one_too_many = _is_one_too_many(scontrol, state.partitions)
    except ProbeFailed:
        if state.takes_jobs:  # a node that cannot see the others stays drained
            _take_back(scontrol, node)
        raise
    return not (is_one_too_many and _take_back(scontrol, node))


def resume(scontrol: Scontrol, node: str) -> bool:
    """Resume a node that the health checks have drained, and return whether they had."""
    return state_of(scontrol, node).is_drained_by_health and _resumed(scontrol, node)


def _take_back(scontrol: Scontrol, node: str) -> bool:
    """Undo one of our drains, of either kind, and return whether there was one."""
    return state_of(scontrol, node).is_drained_by_us and _resumed(scontrol, node)


def _resumed(scontrol: Scontrol, node: str) -> bool:
    scontrol("update", f"nodename={node}", "state=resume")
    return True


def requeue(scontrol: Scontrol, job: str) -> None:
    """Requeue a batch job; raises ProbeFailed for one that cannot be requeued."""
    scontrol("requeue", job)


def _is_one_too_many(scontrol: Scontrol, partitions: frozenset[str]) -> bool:
    """Return whether more than half of a partition has drained itself; one node always may.

    Nodes taken out of service by other means do not count. Raises ProbeFailed.
    """
    shown = scontrol("--oneliner", "show", "node")
    states = [parse_state(line) for line in shown.splitlines() if line.strip()]
    in_play = [state for state in states if state.takes_jobs or state.is_drained_by_us]
    for partition in partitions:
        members = [state for state in in_play if partition in state.partitions]
        drained = sum(state.is_drained_by_us for state in members)
        if drained > max(1, len(members) // 2):
            return True
    return False
