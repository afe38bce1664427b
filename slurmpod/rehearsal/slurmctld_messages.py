"""Messages that slurmctld still tries to send to nodes, and that no new instance may hear.

slurmctld tells the node of a job that is over to end it, even one that has lost its power, and
tries for up to ten seconds. A successor with the same address that answers within them gets the
message; if the same job has begun anew there, it is ended (Slurm 24.11). Real replacements take
minutes.
"""

from __future__ import annotations

import re

COMMAND = "sdiag"
"""What prints the counts; any user may run it."""

_WAITING_OR_UNDER_WAY = re.compile(r"^Agent (?:queue size|count): +([0-9]+)$", re.MULTILINE)


def are_under_way(printed: str) -> bool:
    """Tell from what `sdiag` prints whether slurmctld has messages to nodes that have not ended."""
    return any(int(count) for count in _WAITING_OR_UNDER_WAY.findall(printed))
