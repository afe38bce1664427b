"""A worker's root disk has no space left when a job is to start there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from slurmpod.rehearsal.faults.cluster import SLURMD_LOG, FaultCluster
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.interventions import disk, in_enclosure
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch

REASON = "SlurmdSpoolDir is full"
"""What slurmd notes of itself."""

HELD = "launch_failed_requeued_held"
"""Slurm's reason for a job that could not be started: it does not try again by itself."""

_CLEAR = "rm -r /var/spool/slurmd/job*"
"""What is left of a job that could not be started would keep it from starting there again."""


def _act(cluster: FaultCluster, watch: Watch) -> None:
    worker = cluster.workers[0]
    bystander = SteadyJob.start(cluster, watch, f"--exclude={worker}")
    log = cluster.log(worker, SLURMD_LOG)
    with _no_space(cluster, worker):
        watch.injected(f"the root disk of {worker} is full")
        job = SteadyJob.submit(cluster, watch, f"--nodelist={worker}")
        watch.until("the node drains", lambda: cluster.state(worker), "drained")
        watch.until("for this reason", lambda: cluster.reason(worker), REASON)
        watch.noticed(f"{worker} is drained: {REASON}")
        watch.until("the job is back", lambda: (job.state, job.reason), ("PENDING", HELD))
        watch.until("the node says why", lambda: log.says("No space left on device"), wanted=True)
        bystander.wait_until_it_writes()
    cluster.root(worker).run(["sh", "-c", _CLEAR])
    watch.mended("somebody made space")
    cluster.resume(worker)
    watch.until("the node is back", lambda: cluster.state(worker), "idle")
    cluster.root(cluster.controller).run(["scontrol", "release", job.id])
    job.wait_until_it_runs()
    watch.recovered("the node takes jobs again, the same job runs there")
    for each in (job, bystander):
        each.finish()


@contextmanager
def _no_space(cluster: FaultCluster, node: str) -> Iterator[None]:
    """Make a node's disk as small as what is on it."""
    place = str(disk(cluster.folder, node))
    size, used = in_enclosure(
        cluster.folder, "df", "--block-size=1", "--output=size,used", place
    ).split()[-2:]
    try:
        in_enclosure(cluster.folder, "mount", "-o", f"remount,size={used}", place)
        yield
    finally:
        in_enclosure(cluster.folder, "mount", "-o", f"remount,size={size}", place)


FAULT = Fault(
    name="root-disk-full",
    title="The root disk of a worker is full",
    sees="`sinfo -R` shows the node drained: `SlurmdSpoolDir is full`. The job that was to"
    " start there is back in the queue, held: `launch failed requeued held`.",
    logged="slurmd.log on the node: `error: write /var/spool/slurmd/...: No space left on device`.",
    recovers="Other jobs go to other nodes. Somebody makes space, removes what is left of the job"
    " (/var/spool/slurmd/job*) and runs `scontrol update nodename=... state=resume`, or has the"
    " node replaced; then releases the job: `scontrol release JOB`.",
    act=_act,
)
