"""What a node tells Slurm about itself: only itself, and never over anybody else's reason."""

from __future__ import annotations

import re
from dataclasses import dataclass

from slurmpod_health.probe import probe

SCONTROL = "/opt/slurm/bin/scontrol"
SECONDS = 3.0
PREFIX = "slurmpod: "
"""How the reasons begin that this program gives, and the only ones that it takes back."""

OUT_OF_SERVICE = {"DRAIN", "DOWN", "FAIL", "DRAINED", "DRAINING", "FAILING"}


@dataclass(frozen=True)
class NodeState:
    """The words of a node's state, and the reason for it."""

    words: frozenset[str]
    reason: str

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
    reason = re.search(r"\bReason=(.*?)(?: \[\S+\])?$", description.strip())
    words = re.split(r"[+*]", state.group(1)) if state else []
    return NodeState(frozenset(words), reason.group(1) if reason else "")


def drain(node: str, reason: str) -> bool:
    """Take a node out of service, and tell whether that was still to be done.

    Who replaces or reboots a node has given it a state and a reason of its own, which stay. Raises
    ProbeFailed.
    """
    state = state_of(node)
    if not (state.takes_jobs or state.is_drained_by_us):
        return False
    _update(f"nodename={node}", "state=drain", f"reason={PREFIX}{reason}")
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


def _update(*words: str) -> None:
    probe(SCONTROL, "update", *words, seconds=SECONDS)
