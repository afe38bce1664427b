"""A node is replaced while FSx for Lustre does not let it mount."""

from __future__ import annotations

from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.interventions import cut_power, unmountable
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch

WAITS = "mount_fsx: waiting: "
SAYS = "Is the MGS specification correct?"
"""What Lustre's mount says for a file system that the server does not know, or not yet."""


def _act(cluster: FaultCluster, watch: Watch) -> None:
    worker = cluster.workers[0]
    bystander = SteadyJob.start(cluster, watch, f"--exclude={worker}")
    before = cluster.instances()[worker]
    with unmountable(cluster.folder):
        cut_power(cluster, worker)
        watch.injected(f"{worker} is replaced, and the file system cannot be mounted")
        watch.until("it is replaced", lambda: cluster.has_successor(worker, before), wanted=True)
        watch.until("the scripts wait", lambda: cluster.scripts_said(worker, WAITS), wanted=True)
        watch.until("they say why", lambda: cluster.scripts_said(worker, SAYS), wanted=True)
        watch.noticed("the scripts of the new node wait, and say for what")
        bystander.wait_until_it_writes()
    watch.mended("the file system can be mounted")
    watch.until("the scripts end well", lambda: cluster.is_set_up(worker), wanted=True)
    watch.until("the node is in service", lambda: cluster.state(worker), "idle")
    watch.recovered(f"{worker} mounted it and takes jobs")
    bystander.finish()


FAULT = Fault(
    name="file-system-late",
    title="FSx cannot be mounted at first",
    sees="A new node stays `Pending` for longer than others, and `down*` in sinfo. Nodes that have"
    " mounted it go on.",
    logged="The node's stream in CloudWatch Logs: `mount_fsx: waiting: ...` with what mount said,"
    " once for each reason. Should the time of the step run out, the last line names the step, the"
    " reason and what to check.",
    recovers="The scripts try again, with growing pauses that differ from node to node, until the"
    " time of the step is over; the node then joins by itself.",
    act=_act,
    customer_mode_only=True,
)
