"""What a node tells Slurm about itself: only itself, and never over anybody else's reason.

What all nodes see, because the catalog is wrong about their type or an image has changed, must not
take a whole partition out of service. So a node that has drained itself looks at the others, and
takes that back where more than half of a partition's nodes have. Each looks after its own drain:
however many do so at once, the last one sees all the others, and no more than half remain.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from slurmpod_health.probe import ProbeFailed, probe

SCONTROL = "/opt/slurm/bin/scontrol"
SECONDS = 3.0
PREFIX = "slurmpod: "
"""How the reasons begin that this program gives, and the only ones that it takes back."""

OUT_OF_SERVICE = {"DRAIN", "DOWN", "FAIL", "DRAINED", "DRAINING", "FAILING"}


@dataclass(frozen=True)
class NodeState:
    """The words of a node's state, the reason for it, and the partitions that the node is in."""

    words: frozenset[str]
    reason: str
    partitions: frozenset[str]

    @property
    def takes_jobs(self) -> bool:
        """Whether nobody has taken the node out of service."""
        return not self.words & OUT_OF_SERVICE

    @property
    def is_drained_by_us(self) -> bool:
        """Whether it is this program that has."""
        return "DRAIN" in self.words and self.reason.startswith(PREFIX)


def state_of(node: str) -> NodeState:
    """Ask for a node's state; raises ProbeFailed."""
    return parse_state(probe(SCONTROL, "--oneliner", "show", "node", node, seconds=SECONDS))


def parse_state(description: str) -> NodeState:
    """Read what `scontrol --oneliner show node` prints."""
    state = re.search(r"\bState=(\S+)", description)
    partitions = re.search(r"\bPartitions=(\S+)", description)
    reason = re.search(r"\bReason=(.*?)(?: \[\S+\])?$", description.strip())
    words = re.split(r"[+*]", state.group(1)) if state else []
    names = partitions.group(1).split(",") if partitions else []
    return NodeState(frozenset(words), reason.group(1) if reason else "", frozenset(names))


def drain(node: str, reason: str) -> bool:
    """Take a node out of service; tell whether it is, and not one too many of its partition.

    Who replaces or reboots a node has given it a state and a reason of its own, which stay. Raises
    ProbeFailed.
    """
    state = state_of(node)
    if not (state.takes_jobs or state.is_drained_by_us):
        return True
    _update(f"nodename={node}", "state=drain", f"reason={PREFIX}{reason}")
    if state.takes_jobs and _is_one_too_many(state.partitions):
        return not resume(node)
    return True


def resume(node: str) -> bool:
    """Let a node take jobs again that this program has drained, and tell whether it had."""
    if not state_of(node).is_drained_by_us:
        return False
    _update(f"nodename={node}", "state=resume")
    return True


def requeue(job: str) -> None:
    """Let a batch job wait for other nodes; raises ProbeFailed for one that cannot be repeated."""
    probe(SCONTROL, "requeue", job, seconds=SECONDS)


def _is_one_too_many(partitions: frozenset[str]) -> bool:
    """Tell whether more than half of a partition has drained itself; one node always may.

    Nodes that others have taken out of service do not count. Who cannot see the nodes is careful.
    """
    try:
        shown = probe(SCONTROL, "--oneliner", "show", "node", seconds=SECONDS)
    except ProbeFailed:
        return True
    states = [parse_state(line) for line in shown.splitlines() if line.strip()]
    in_play = [state for state in states if state.takes_jobs or state.is_drained_by_us]
    for partition in partitions:
        members = [state for state in in_play if partition in state.partitions]
        drained = sum(state.is_drained_by_us for state in members)
        if drained > max(1, len(members) // 2):
            return True
    return False


def _update(*words: str) -> None:
    probe(SCONTROL, "update", *words, seconds=SECONDS)
