"""Reports of a node to Slurm, by scontrol: only about itself, and never over others' reasons.

What all nodes see, because the catalog is wrong about their type or an image has changed, must not
take a whole partition out of service. So a node that has drained itself looks at the others, and
takes that back where more than half of a partition's nodes have. Each looks after its own drain:
however many do so at once, the last one sees all the others, and no more than half remain. A drain
whose look at the others got no answer stays until the node's next check, which looks again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from slurmpod_health.node_state import CHECK, PREFIX, NodeState, read_state
from slurmpod_health.probe import ProbeFailed, ProbeTimedOut, probe

PROGRAM = "/opt/slurm/bin/scontrol"
SECONDS = 3.0
"""How long one call may take."""

SECONDS_OF_ALL = 12.0
"""How long all calls of a run may take together.

The slowest checks before them take 4 s, which makes 16 s; the program around both is ended after
20 s, as a job that starts waits for it. What is left is for Python to start on a slow node.
"""


@dataclass(frozen=True)
class Scontrol:
    """What one run asks of Slurm, up to a moment of the monotonic clock, in seconds."""

    deadline: float

    @classmethod
    def starting_now(cls) -> Scontrol:
        """Give the calls of a run their time."""
        return cls(time.monotonic() + SECONDS_OF_ALL)

    def __call__(self, *words: str) -> str:
        """Return what scontrol printed; raises ProbeFailed, also when the time is over."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise ProbeTimedOut(f"no answers within {SECONDS_OF_ALL:g} s")
        return probe(PROGRAM, *words, seconds=min(SECONDS, left))


def state_of(scontrol: Scontrol, node: str) -> NodeState:
    """Ask for a node's state; raises ProbeFailed."""
    return parse_state(scontrol("--oneliner", "show", "node", node))


def parse_state(description: str) -> NodeState:
    """Read what `scontrol --oneliner show node` prints; raises ProbeFailed where it says no state.

    What is not known must not look like a node that nobody else shares a partition with.
    """
    state = read_state(description)
    if state is None:
        raise ProbeFailed(f"scontrol shows no state: '{description.strip()}'")
    return state


def drain(scontrol: Scontrol, node: str, reason: str) -> bool:
    """Take a node out of service; tell whether it is, and not one too many of its partition.

    Who replaces or reboots a node has given it a state and a reason of its own, which stay, as does
    what a check of idle nodes has found. Raises ProbeFailed where Slurm does not answer: nobody
    knows then whether the node is out of service.
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
        if state.takes_jobs:  # who cannot see the others is careful
            _take_back(scontrol, node)
        raise
    return not (is_one_too_many and _take_back(scontrol, node))


def resume(scontrol: Scontrol, node: str) -> bool:
    """Let a node take jobs again that the health checks have drained, and tell whether they had."""
    return state_of(scontrol, node).is_drained_by_health and _resumed(scontrol, node)


def _take_back(scontrol: Scontrol, node: str) -> bool:
    """Undo a drain of ours, of either kind, and tell whether it was one."""
    return state_of(scontrol, node).is_drained_by_us and _resumed(scontrol, node)


def _resumed(scontrol: Scontrol, node: str) -> bool:
    scontrol("update", f"nodename={node}", "state=resume")
    return True


def requeue(scontrol: Scontrol, job: str) -> None:
    """Let a batch job wait for other nodes; raises ProbeFailed for one that cannot be repeated."""
    scontrol("requeue", job)


def _is_one_too_many(scontrol: Scontrol, partitions: frozenset[str]) -> bool:
    """Return whether more than half of a partition has drained itself; one node always may.

    Nodes that others have taken out of service do not count. Raises ProbeFailed.
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
