"""slurmctld by its log and sdiag: nodes that somebody set down, and messages under way.

With ReturnToService=2 slurmctld takes a node that was set down back into service as soon as its
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
"""What all lines have that say how a node was changed on request."""

_UPDATE = re.compile(
    rf"{UPDATES}(?P<node>\S+) (?:reason set to: (?P<reason>.*)|state set to (?P<state>\S+))$"
)


@dataclass(frozen=True)
class SetDown:
    """A node that somebody set down, and the reason that it had then; empty without one."""

    node: str
    reason: str


class LogsOfControllers:
    """Finds who was set down since the last look at a controller's log.

    What a log says at the first look counts as seen.
    """

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def new(self, controller: str, updates: str) -> list[SetDown]:
        """Return what has come since the last look; a log that was begun anew starts at nothing."""
        found = [*set_down(updates)]
        seen = self._seen.get(controller, len(found))
        self._seen[controller] = len(found)
        return found[seen:]


def set_down(updates: str) -> Iterator[SetDown]:
    """Yield every node that was set down, from the lines of the log that have UPDATES."""
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
        elif match["state"] == "IDLE":  # the reason goes with the state that it was for
            reasons.pop(node, None)


MESSAGES_COMMAND = "sdiag"
"""What prints the counts; any user may run it."""

_WAITING_OR_UNDER_WAY = re.compile(r"^Agent (?:queue size|count): +([0-9]+)$", re.MULTILINE)


def messages_are_under_way(printed: str) -> bool:
    """Tell from what `sdiag` prints whether slurmctld has messages to nodes that have not ended.

    No new instance may hear them. slurmctld tells the node of a job that is over to end it, even
    one that has lost its power, and tries for up to ten seconds. A successor with the same address
    that answers within them gets the message; if the same job has begun anew there, it is ended
    (Slurm 24.11). Real replacements take minutes.
    """
    return any(int(count) for count in _WAITING_OR_UNDER_WAY.findall(printed))
