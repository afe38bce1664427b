"""Faults of capacity: EC2 has fewer instances than are wanted.

HyperPod has such clusters in service with what there is, and goes on asking for the rest.
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
"""How the event ends of an instance that could not be created."""


@contextlib.contextmanager
def _more_wanted(cluster: FaultCluster, watch: Watch) -> Iterator[tuple[str, ...]]:
    """Want more workers while EC2 has none; yields their names, and wants them no more at the end.

    Whatever nodes are still to come then leave Slurm.
    """
    group, before = group_and_count(cluster)
    cluster.shortage.limit(group, before)
    try:
        scale(cluster, watch, before + _MORE)
        watch.injected(f"{_MORE} more nodes are wanted, and EC2 has no instance for them")
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
    gone = "the nodes that were wanted are gone"
    watch.until(gone, lambda: _named(cluster), set(cluster.workers), seconds=SCALING_SECONDS)


def _capacity_late(cluster: FaultCluster, watch: Watch) -> None:
    """Nodes come late, and one by one; a job waits for all of them."""
    bystander = SteadyJob.start(cluster, watch)
    group, before = group_and_count(cluster)
    with _more_wanted(cluster, watch) as late:
        job = SteadyJob.submit(cluster, watch, f"--nodelist={','.join(late)}")
        watch.until("the job waits for them", lambda: job.state, "CONFIGURING")
        watch.noticed("Slurm gave nodes to a job that never ran: it is CONFIGURING")
        cluster.shortage.limit(group, before + 1)
        watch.until("one came", lambda: len(cluster.to_come()), _MORE - 1)
        bystander.wait_until_it_writes()
        cluster.shortage.end()
        watch.mended("EC2 has an instance for the last one, too")
        watch.until("all came", lambda: len(cluster.to_come()), 0)
        job.wait_until_it_runs()
        watch.recovered("the last one is there, and the job runs on all of them")
        job.finish()
        watch.until("both take jobs", lambda: set(map(cluster.state, late)), {"idle"})
    bystander.finish()


CAPACITY_LATE = Fault(
    name="capacity-late",
    title="Nodes come late, and one by one",
    sees="`slurmpod status` shows the group `2/4 in service`, and the others `Pending` with"
    " HyperPod's sentence on capacity. In sinfo they are `idle~`. Slurm gives them to jobs"
    " nevertheless: such a job is `CONFIGURING`, and `slurmpod why JOB` says which nodes it waits"
    " for. Other jobs go on.",
    logged="The cluster's events (ListClusterEvents): of each node that its creation failed.",
    recovers="HyperPod goes on asking, and the job starts when its last node is there; Slurm waits"
    " ResumeTimeout (300 s) for it, and then takes the job back into the queue. Where Slurm takes a"
    " late node for one that was rebooted, the timer `slurmpod-returned-nodes` resumes it.",
    act=_capacity_late,
    need=Need.CONTINUOUS,
)


def _capacity_part(cluster: FaultCluster, watch: Watch) -> None:
    """EC2 never has some of the nodes; a job that takes what there is runs, and they are given up.

    It may need every node that is there.
    """
    with _more_wanted(cluster, watch) as late:
        there = len(cluster.workers)
        job = SteadyJob.start(cluster, watch, f"--nodes={there}")
        watch.noticed(f"a job runs on the {there} nodes that are there")
        watch.until("the others stay Pending", lambda: set(cluster.to_come()), set(late))
        watch.mended("somebody wants no more nodes than there are")
    job.wait_until_it_writes()
    watch.recovered("the nodes that never came are gone, the job was not disturbed")
    job.finish()


CAPACITY_PART = Fault(
    name="capacity-part",
    title="EC2 has a part of the nodes only",
    sees="The same as of nodes that come late, for as long as nobody does anything. Jobs that ask"
    " for no more nodes than there are run as always: Slurm prefers nodes that are there.",
    logged="The same as of nodes that come late.",
    recovers="A smaller `count` and `slurmpod deploy`: the nodes that never came leave `sinfo`, and"
    " no job is disturbed. A group that lacks its `min_count` for three hours goes back to what it"
    " was by itself.",
    act=_capacity_part,
    need=Need.CONTINUOUS,
)


def _named(cluster: FaultCluster) -> set[str]:
    """Return the nodes of the partition that Slurm knows."""
    ask = ["sinfo", "--noheader", "--Node", f"--partition={cluster.partition}", "--format=%N"]
    return set(cluster.user.run(ask).split())
