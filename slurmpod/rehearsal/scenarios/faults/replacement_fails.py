"""A replacement dies before its scripts have ended, and so does the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.rehearsal.scenarios.faults.enclosure import unmountable
from slurmpod.rehearsal.scenarios.faults.fault import Fault
from slurmpod.rehearsal.scenarios.faults.file_system_late import WAITS
from slurmpod.rehearsal.scenarios.faults.steady_job import SteadyJob
from slurmpod.rehearsal.scenarios.faults.wires import cut_power

if TYPE_CHECKING:
    from slurmpod.rehearsal.scenarios.faults.cluster import FaultCluster
    from slurmpod.rehearsal.scenarios.faults.watch import Watch


def _act(cluster: FaultCluster, watch: Watch) -> None:
    worker = cluster.workers[0]
    seen = {cluster.instances()[worker]}
    job = SteadyJob.start(cluster, watch, f"--nodelist={worker}")
    with unmountable(cluster.folder):  # holds the scripts, so that they are cut off in the middle
        cut_power(cluster, worker)
        watch.injected(f"{worker} has no power, and neither have its next two successors")
        for which in ("first", "second"):
            watch.until("its scripts run", lambda: cluster.scripts_said(worker, WAITS), wanted=True)
            seen.add(cluster.instances()[worker])
            cut_power(cluster, worker)
            watch.noticed(f"the {which} successor died while its scripts ran")
            watch.until("the next", lambda: cluster.has_successor(worker, *seen), wanted=True)
    watch.until("the third is set up", lambda: cluster.is_set_up(worker), wanted=True)
    job.wait_until_it_runs()
    watch.until("it was started anew once", lambda: job.restarts, 1)
    watch.recovered("the third successor takes jobs, the job runs again")
    job.finish()


FAULT = Fault(
    name="replacement-fails",
    title="A replacement fails twice",
    sees="The node stays `down` for as long as three replacements take; the job waits in the"
    " queue.",
    logged="The cluster's events name each attempt and why it failed; each instance has a stream of"
    " its own in CloudWatch Logs, and the ones that died end in the middle.",
    recovers="The next attempt, by itself. In the rehearsal a node is in status Failure after three"
    " of them; then replace it by hand.",
    act=_act,
)
