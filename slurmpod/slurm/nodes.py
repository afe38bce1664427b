"""Nodes as Slurm shows them: read here alone, so that all commands judge a node alike. Pure.

`scontrol --oneliner show node` has a line for each node, `sinfo` one for all that are alike, with
the same flags of the state (StateComplete). Source: node_state_flags in slurm_protocol_defs.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from slurmpod.slurm.fields import value_of
from slurmpod.slurm.hostlist import expanded

BUSY = frozenset({"ALLOCATED", "MIXED", "COMPLETING"})
HELD = frozenset({"DRAIN", "DOWN", "FAIL", "FAILING"})
OUT_OF_SERVICE = HELD | {"FUTURE", "UNKNOWN", "ERROR"}
SET_ASIDE = frozenset(
    {"BLOCKED", "INVALID_REG", "MAINTENANCE", "NOT_RESPONDING"}
    | {"REBOOT_ISSUED", "REBOOT_REQUESTED"}
)
"""Flags of a node without jobs with which no job starts there, although nobody holds it."""

COLUMNS = ("NodeList", "StateLong", "StateComplete", "User", "TimeStamp", "Reason")
"""The reason comes last: it may hold whatever stands between columns."""

_FIELD = "|"
_SINCE = re.compile(r", since (\d\S*)")
_REASON = re.compile(r"(?:^|\s)Reason=(.*) \[([^][@]*)@([^][]*)\](?=\s|$)")
_GPUS = re.compile(r"\bgpu(?::[^:(,\s]+)?:(\d+)")


@dataclass(frozen=True)
class SlurmNode:
    """A node as Slurm knows it; `started` is when its slurmd did, by the controller's clock.

    `who` gave it the `reason`, at the time `since` (ISO 8601); `gpus` is how many it is to have;
    `word` is the state in one word, where sinfo was asked.
    """

    name: str
    state: frozenset[str] = frozenset()
    reason: str = ""
    started: str = ""
    who: str = ""
    gpus: int = 0
    since: str = ""
    word: str = ""

    @property
    def shown(self) -> str:
        """Return its state in few words."""
        words = [word.lower() for word in sorted(self.state & (BUSY | HELD | {"NOT_RESPONDING"}))]
        return "+".join(words) or "idle"

    @property
    def is_held(self) -> bool:
        """Return whether somebody, or slurmctld, lets no job start there."""
        return bool(self.state & HELD)

    @property
    def is_down(self) -> bool:
        """Return whether no job can be there any more."""
        return "DOWN" in self.state

    @property
    def is_out(self) -> bool:
        """Return whether its state lets no job start there, be it held or not known."""
        return bool(self.state & OUT_OF_SERVICE)

    @property
    def is_free(self) -> bool:
        """Return whether no jobs, nor is being cleared away."""
        return not self.state & BUSY

    @property
    def takes_jobs(self) -> bool:
        """Return whether jobs start there, or go on although it is set aside for later."""
        return not (self.is_out or (self.is_free and self.state & SET_ASIDE))

    def is_held_for(self, reason: str) -> bool:
        """Return whether we hold it, for this reason; slurmctld may have added words of its own."""
        return self.is_held and self.reason.startswith(reason)

    @property
    def has_started_anew(self) -> bool:
        """Return whether its slurmd has started since we drained it; such times sort as texts."""
        since = _SINCE.search(self.reason)
        return since is not None and self.started >= since[1]

    @property
    def answers(self) -> bool:
        """Return whether its slurmd has answered the controller's last question."""
        return "NOT_RESPONDING" not in self.state


def read_node(line: str) -> SlurmNode | None:
    """Return the node of a line of `scontrol --oneliner show node`, if it is one."""
    name, state = value_of(line, "NodeName"), value_of(line, "State")
    if not (name and state):
        return None
    reason = _REASON.search(line)
    gpus = _GPUS.search(value_of(line, "Gres"))
    started = value_of(line, "SlurmdStartTime")
    return SlurmNode(
        name=name,
        state=flags_of(state),
        reason=reason[1] if reason else value_of(line, "Reason"),
        started=started if started[:1].isdecimal() else "",
        who=reason[2] if reason else "",
        gpus=int(gpus[1]) if gpus else 0,
        since=reason[3] if reason else "",
    )


def read_nodes(printed: str) -> dict[str, SlurmNode]:
    """Return by name the nodes that `scontrol --oneliner show node` prints."""
    return {node.name: node for node in map(read_node, printed.splitlines()) if node}


def sinfo() -> str:
    """Return the command whose lines `read_sinfo` reads, for the nodes of all partitions."""
    columns = ",".join(f"{column}:{_FIELD}" for column in COLUMNS)
    return f"sinfo --all --noheader --Format='{columns}'"


def read_sinfo(printed: str) -> dict[str, SlurmNode]:
    """Return by name the nodes that `sinfo` prints; lines that say something else are left out."""
    return {node.name: node for line in printed.splitlines() for node in _listed(line)}


def is_of_sinfo(line: str) -> bool:
    """Return whether a line is one of nodes; what Slurm says of a failure is none."""
    return line.count(_FIELD) >= len(COLUMNS)


def flags_of(state: str) -> frozenset[str]:
    """Return the words of a state, such as `IDLE+CLOUD*`."""
    return frozenset(state.upper().replace("*", "+NOT_RESPONDING").split("+"))


def _listed(line: str) -> Iterator[SlurmNode]:
    if not is_of_sinfo(line):
        return
    names, word, state, who, since, rest = line.split(_FIELD, len(COLUMNS) - 1)
    reason = rest.rstrip().removesuffix(_FIELD)
    if reason.strip() in ("", "none"):
        who = since = reason = ""
    for name in expanded(names.strip()):
        yield SlurmNode(
            name,
            flags_of(state.strip()),
            reason,
            who=who.strip(),
            since=since.strip(),
            word=word.strip(),
        )
