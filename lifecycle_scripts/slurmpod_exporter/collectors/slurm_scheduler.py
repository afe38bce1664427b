"""slurmctld itself: whether it answers, and what `sdiag` says of its work."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slurmpod_exporter.collector import Collector
from slurmpod_exporter.exposition import Sample
from slurmpod_exporter.host import SLURM_COMMANDS, CollectorFailed, Host

MICROSECOND = 1e-6
LINES = (
    ("Jobs started", "slurmpod_slurm_jobs_started", 1.0),
    ("Jobs failed", "slurmpod_slurm_jobs_failed", 1.0),
    ("Last cycle", "slurmpod_slurm_cycle_seconds", MICROSECOND),
    ("Server thread count", "slurmpod_slurm_server_threads", 1.0),
    ("Agent queue size", "slurmpod_slurm_agent_queue", 1.0),
    ("DBD Agent queue size", "slurmpod_slurm_dbd_queue", 1.0),
)
"""What sdiag calls it; of several lines of one name the first counts, the main scheduler's."""


def _collect(host: Host) -> Iterator[Sample]:
    is_up = _answers(host)
    yield Sample("slurmpod_slurmctld_up", {}, float(is_up))
    if not is_up:
        return
    said = host.run(f"{SLURM_COMMANDS}/sdiag")
    for title, name, unit in LINES:
        if match := re.search(rf"^\s*{title}:\s*([0-9]+)", said, re.MULTILINE):
            yield Sample(name, {}, int(match[1]) * unit)


def _answers(host: Host) -> bool:
    try:
        return " is UP" in host.run(f"{SLURM_COMMANDS}/scontrol", "ping")
    except CollectorFailed:
        return False


SLURM_SCHEDULER = Collector("slurm_scheduler", lambda host: host.is_controller, _collect)
