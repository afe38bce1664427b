"""Letting a fault loose on a cluster that is whole, and that has to be whole again afterwards."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.scenarios.faults.fault import FaultFailed, FaultReport
from slurmpod.rehearsal.scenarios.faults.watch import Watch
from slurmpod.rehearsal.shell import CommandFailed

if TYPE_CHECKING:
    from slurmpod.rehearsal.scenarios.faults.cluster import FaultCluster
    from slurmpod.rehearsal.scenarios.faults.fault import Fault

PATIENCE_SECONDS = 60.0
"""How long a state may take to come, beside what Slurm itself waits for a silent node."""


def run_fault(fault: Fault, cluster: FaultCluster) -> FaultReport:
    """Run one fault to its end; raises FaultFailed when the cluster does not behave as it should.

    Whatever a job lost is in the report.
    """
    started = time.monotonic()
    watch = Watch(PATIENCE_SECONDS + 2 * cluster.slurmd_timeout())
    try:
        cluster.require_whole(watch)
        fault.act(cluster, watch)
        cluster.require_whole(watch)
        lost = tuple(loss for job in watch.jobs for loss in job.losses())
    except (CommandFailed, FaultFailed, MachineFailed) as failure:
        raise FaultFailed(f"{fault.name}: {failure}") from failure
    finally:
        _cancel(watch)
    seconds = round(time.monotonic() - started, 2)
    return FaultReport(fault.name, fault.title, watch.moments, lost, seconds)


def _cancel(watch: Watch) -> None:
    """Take what jobs of a fault are left, if it went wrong, out of the next one's way."""
    for job in watch.jobs:
        with contextlib.suppress(CommandFailed):  # what went wrong may be this, too
            job.cluster.user.run(["scancel", job.id])
