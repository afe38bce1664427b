"""A node as `scontrol --oneliner show node` shows it, read here for all commands. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from slurmpod.slurm.fields import value_of

BUSY = {"ALLOCATED", "MIXED", "COMPLETING"}
HELD = {"DRAIN", "DOWN", "FAIL", "FAILING"}

_SINCE = re.compile(r", since (\d\S*)")
_REASON = re.compile(r"(?P<text>.*?)(?: \[(?P<who>[^][@]*)@[^][]*\])?")
_GPUS = re.compile(r"\bgpu(?::[^:(,\s]+)?:(\d+)")


@dataclass(frozen=True)
class SlurmNode:
    """A node as Slurm knows it; `started` is when its slurmd did, by the controller's clock.

    `who` gave it the `reason`; `gpus` is how many it is to have.
    """

    name: str
    state: frozenset[str]
    reason: str = ""
    started: str = ""
    who: str = ""
    gpus: int = 0

    @property
    def shown(self) -> str:
        """Return its state in few words."""
        words = [word.lower() for word in sorted(self.state & (BUSY | HELD | {"NOT_RESPONDING"}))]
        return "+".join(words) or "idle"

    @property
    def is_held(self) -> bool:
        """Tell whether no job starts there."""
        return bool(self.state & HELD)

    @property
    def is_free(self) -> bool:
        """Tell whether no job is there."""
        return not self.state & BUSY

    def is_held_for(self, reason: str) -> bool:
        """Tell whether we hold it, for this reason; slurmctld may have added words of its own."""
        return self.is_held and self.reason.startswith(reason)

    @property
    def has_started_anew(self) -> bool:
        """Tell whether its slurmd has started since we drained it; such times sort as texts."""
        since = _SINCE.search(self.reason)
        return since is not None and self.started >= since[1]

    @property
    def answers(self) -> bool:
        """Tell whether its slurmd has answered the controller's last question."""
        return "NOT_RESPONDING" not in self.state


def read_node(line: str) -> SlurmNode | None:
    """Return the node of a line, if it is one."""
    name, state = value_of(line, "NodeName"), value_of(line, "State")
    if not (name and state):
        return None
    reason = _REASON.fullmatch(value_of(line, "Reason"))
    gpus = _GPUS.search(value_of(line, "Gres"))
    started = value_of(line, "SlurmdStartTime")
    return SlurmNode(
        name=name,
        state=frozenset(state.replace("*", "+NOT_RESPONDING").split("+")),
        reason=reason["text"] if reason else "",
        started=started if started[:1].isdecimal() else "",
        who=(reason["who"] or "") if reason else "",
        gpus=int(gpus[1]) if gpus else 0,
    )
