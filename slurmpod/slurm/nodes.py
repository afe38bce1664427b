"""Nodes as Slurm shows them; the only parser, so that all commands judge a node alike. Pure.

`scontrol --oneliner show node` has a line for each node, `sinfo` one for all in a state, with the
same flags (StateComplete). Source: node_state_flags in slurm_protocol_defs.c.
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
"""Flags of an idle node on which no job starts, although no one holds it."""

COLUMNS = ("NodeList", "StateLong", "StateComplete", "User", "TimeStamp", "Reason")
"""The reason comes last: it may contain the column separator."""

_FIELD = "|"
_SINCE = re.compile(r", since (\d\S*)")
_REASON = re.compile(r"(?:^|\s)Reason=(.*) \[([^][@]*)@([^][]*)\](?=\s|$)")
_GPUS = re.compile(r"\bgpu(?::[^:(,\s]+)?:(\d+)")


@dataclass(frozen=True)
class SlurmNode:
    """A node as Slurm knows it; `started` is when its slurmd did, by the controller's clock.

    `who` set the `reason` at the time `since` (ISO 8601); `gpus` is its configured number of GPUs;
    `word` is the state in one word, if it comes from sinfo.
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
        """Return its state in a few words."""
        words = [word.lower() for word in sorted(self.state & (BUSY | HELD | {"NOT_RESPONDING"}))]
        return "+".join(words) or "idle"

    @property
    def is_held(self) -> bool:
        """Return whether a user or slurmctld keeps jobs from starting on it."""
        return bool(self.state & HELD)

    @property
    def is_down(self) -> bool:
        """Return whether no job can still be on it."""
        return "DOWN" in self.state

    @property
    def is_out(self) -> bool:
        """Return whether its state keeps jobs from starting, whether it is held or unknown."""
        return bool(self.state & OUT_OF_SERVICE)

    @property
    def is_free(self) -> bool:
        """Return whether it has no jobs and none is completing."""
        return not self.state & BUSY

    @property
    def takes_jobs(self) -> bool:
        """Return whether jobs start on it, or keep running although it is reserved for later."""
        return not (self.is_out or (self.is_free and self.state & SET_ASIDE))

    def is_held_for(self, reason: str) -> bool:
        """Return whether slurmpod holds it for this reason, to which slurmctld may append."""
        return self.is_held and self.reason.startswith(reason)

    @property
    def has_started_anew(self) -> bool:
        """Return whether its slurmd has started since it was drained; the times sort as text."""
        since = _SINCE.search(self.reason)
        return since is not None and self.started >= since[1]

    @property
    def answers(self) -> bool:
        """Return whether its slurmd has answered the controller's last ping."""
        return "NOT_RESPONDING" not in self.state


def read_node(line: str) -> SlurmNode | None:
    """Return the node from a line of `scontrol --oneliner show node`, if it has one."""
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
    """Return the nodes from `scontrol --oneliner show node` by name."""
    return {node.name: node for node in map(read_node, printed.splitlines()) if node}


def sinfo() -> str:
    """Return the command whose output `read_sinfo` parses, for the nodes of all partitions."""
    columns = ",".join(f"{column}:{_FIELD}" for column in COLUMNS)
    return f"sinfo --all --noheader --Format='{columns}'"


def read_sinfo(printed: str) -> dict[str, SlurmNode]:
    """Return the nodes from `sinfo` by name; skip other lines."""
    return {node.name: node for line in printed.splitlines() for node in _listed(line)}


def is_of_sinfo(line: str) -> bool:
    """Return whether a line describes nodes; Slurm's error messages do not."""
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
