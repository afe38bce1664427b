"""Nodes that were set to down, from slurmctld's log, and pending messages, from sdiag.

With ReturnToService=2, slurmctld returns a node that was set to down to service as soon as its
slurmd answers, for example that it has ended a job, and forgets the reason: often within a second
(Slurm 24.11, `node_did_resp: node ... returned to service`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

SLURMCTLD_LOG = "/var/log/slurm/slurmctld.log"
UPDATES = "update_node: node "
"""The text in all log lines that report a requested change of a node."""

_UPDATE = re.compile(
    rf"{UPDATES}(?P<node>\S+) (?:reason set to: (?P<reason>.*)|state set to (?P<state>\S+))$"
)


@dataclass(frozen=True)
class SetDown:
    """A node that was set to down, and its reason at that time; empty without one."""

    node: str
    reason: str


class LogsOfControllers:
    """Finds nodes that were set to down since the last look at a controller's log.

    Everything in a log at the first look counts as seen.
    """

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def new(self, controller: str, updates: str) -> list[SetDown]:
        """Return what was added since the last look; a new log file counts from its beginning."""
        found = [*set_down(updates)]
        seen = self._seen.get(controller, len(found))
        self._seen[controller] = len(found)
        return found[seen:]


def set_down(updates: str) -> Iterator[SetDown]:
    """Yield every node that was set to down, from the log lines that contain UPDATES."""
    reasons: defaultdict[str, str] = defaultdict(str)
    for line in updates.splitlines():
        match = _UPDATE.search(line)
        if not match:
            continue
        node = match["node"]
        if match["reason"] is not None:
            reasons[node] = match["reason"]
        elif match["state"] == "DOWN":
            yield SetDown(node, reasons[node])
        elif match["state"] == "IDLE":  # the reason belongs to the state that just ended
            reasons.pop(node, None)


MESSAGES_COMMAND = "sdiag"
"""The command that prints the counts; any user may run it."""

_WAITING_OR_UNDER_WAY = re.compile(r"^Agent (?:queue size|count): +([0-9]+)$", re.MULTILINE)


def messages_are_under_way(printed: str) -> bool:
    """Return whether slurmctld has messages to nodes pending, from the output of `sdiag`.

    A new instance must not receive them. When a job is over, slurmctld asks its nodes to end it,
    even a node that has lost power, and retries for up to ten seconds. A replacement with the same
    address that answers in that time gets the message; if the same job has restarted there, it is
    ended (Slurm 24.11). Real replacements take minutes.
    """
    return any(int(count) for count in _WAITING_OR_UNDER_WAY.findall(printed))
