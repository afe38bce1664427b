"""Capacity faults: EC2 has fewer instances than requested.

HyperPod keeps such a cluster in service with the existing nodes, and keeps requesting the rest.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial

from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.fault import Fault, Need
from slurmpod.rehearsal.faults.scaling import SCALING_SECONDS, group_and_count, scale
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch

_MORE = 2
_NEVER_RAN = {"idle~"}
_NOT_CREATED = " failed"
"""The end of the event of an instance that could not be created."""


@contextlib.contextmanager
def _more_wanted(cluster: FaultCluster, watch: Watch) -> Iterator[tuple[str, ...]]:
    """Request more workers while EC2 has none; yields their names, and removes them at the end.

    Nodes that still do not exist then leave Slurm.
    """
    group, before = group_and_count(cluster)
    cluster.shortage.limit(group, before)
    try:
        scale(cluster, watch, before + _MORE)
        watch.injected(f"{_MORE} more nodes are requested, and EC2 has no instance for them")
        watch.until("they are Pending", lambda: len(cluster.to_come()), _MORE)
        late = cluster.to_come()
        watch.until("Slurm names them", lambda: set(map(cluster.state, late)), _NEVER_RAN)
        for instance in map(cluster.instances().__getitem__, late):
            is_told = partial(cluster.has_event, instance, _NOT_CREATED)
            watch.until(f"{instance} is in the events", is_told, wanted=True)
        yield late
    finally:
        cluster.shortage.end()
        scale(cluster, watch, before)
    gone = "the requested nodes are gone"
    watch.until(gone, lambda: _named(cluster), set(cluster.workers), seconds=SCALING_SECONDS)


def _capacity_late(cluster: FaultCluster, watch: Watch) -> None:
    """Nodes boot late, one by one; a job waits for all of them."""
    bystander = SteadyJob.start(cluster, watch)
    group, before = group_and_count(cluster)
    with _more_wanted(cluster, watch) as late:
        job = SteadyJob.submit(cluster, watch, f"--nodelist={','.join(late)}")
        watch.until("the job waits for them", lambda: job.state, "CONFIGURING")
        watch.noticed("Slurm allocated nodes that never ran to a job: it is CONFIGURING")
        cluster.shortage.limit(group, before + 1)
        watch.until("one has booted", lambda: len(cluster.to_come()), _MORE - 1)
        bystander.wait_until_it_writes()
        cluster.shortage.end()
        watch.repaired("EC2 has an instance for the last one, too")
        watch.until("all have booted", lambda: len(cluster.to_come()), 0)
        job.wait_until_it_runs()
        watch.recovered("the last one has booted, and the job runs on all of them")
        job.finish()
        watch.until("both accept jobs", lambda: set(map(cluster.state, late)), {"idle"})
    bystander.finish()


CAPACITY_LATE = Fault(
    name="capacity-late",
    title="Nodes boot late, one by one",
    sees="`slurmpod status` shows the group `2/4 in service`, and the others `Pending` with"
    " HyperPod's sentence on capacity. In sinfo they are `idle~`. Slurm allocates them to jobs"
    " nevertheless: such a job is `CONFIGURING`, and `slurmpod why JOB` names the nodes it waits"
    " for. Other jobs continue.",
    logged="The cluster's events (ListClusterEvents): for each node, that its creation failed.",
    recovers="HyperPod keeps requesting instances, and the job starts when its last node is up;"
    " Slurm waits ResumeTimeout (300 s) for it, and then requeues the job. If Slurm considers a"
    " late node rebooted, the timer `slurmpod-returned-nodes` resumes it.",
    act=_capacity_late,
    need=Need.CONTINUOUS,
)


def _capacity_part(cluster: FaultCluster, watch: Watch) -> None:
    """EC2 never has some of the nodes; a job that fits the others runs, and they are given up.

    The job may need every node that exists.
    """
    with _more_wanted(cluster, watch) as late:
        there = len(cluster.workers)
        job = SteadyJob.start(cluster, watch, f"--nodes={there}")
        watch.noticed(f"a job runs on the {there} existing nodes")
        watch.until("the others stay Pending", lambda: set(cluster.to_come()), set(late))
        watch.repaired("the group's count is reduced to the existing nodes")
    job.wait_until_it_writes()
    watch.recovered("the nodes that never booted are gone, the job was not disturbed")
    job.finish()


CAPACITY_PART = Fault(
    name="capacity-part",
    title="EC2 has only part of the nodes",
    sees="The same as for nodes that boot late, until the count is changed. Jobs that request no"
    " more nodes than exist run as always: Slurm prefers nodes that are up.",
    logged="The same as for nodes that boot late.",
    recovers="A smaller `count` and `slurmpod deploy`: the nodes that never booted leave `sinfo`,"
    " and no job is disturbed. A group below its `min_count` for three hours is rolled back"
    " automatically.",
    act=_capacity_part,
    need=Need.CONTINUOUS,
)


def _named(cluster: FaultCluster) -> set[str]:
    """Return the nodes of the partition that Slurm lists."""
    ask = ["sinfo", "--noheader", "--Node", f"--partition={cluster.partition}", "--format=%N"]
    return set(cluster.user.run(ask).split())
