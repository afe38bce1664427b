"""Faults of instances that AWS reclaims: a spot instance, those of a plan, those of a zone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from slurmpod.rehearsal.faults.cluster import REPLACED, FaultCluster
from slurmpod.rehearsal.faults.fault import Fault, Need
from slurmpod.rehearsal.faults.interventions import cut_power
from slurmpod.rehearsal.faults.scaling import group_and_count
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch
from slurmpod.rehearsal.slurmctld_log import SLURMCTLD_LOG


def _spot_reclaimed(cluster: FaultCluster, watch: Watch) -> None:
    """EC2 reclaims an instance with a job, and has no other one for a while."""
    worker, before = cluster.workers[0], cluster.instances()
    job = SteadyJob.start(cluster, watch, f"--nodelist={worker}")
    bystander = SteadyJob.start(cluster, watch, f"--exclude={worker}")
    with _taken_back(cluster, watch, (worker,), job):
        bystander.wait_until_it_writes()
    _give_another(cluster, watch, (worker,), before)
    job.wait_until_it_runs()
    watch.recovered("the job runs there again")
    for each in (job, bystander):
        each.finish()


def _strike_spot(cluster: FaultCluster, watch: Watch, nodes: Sequence[str]) -> None:
    """Reclaim the last node of a job, and offer another once HyperPod waits for it."""
    worker = nodes[-1]
    group, count = group_and_count(cluster)
    cluster.shortage.limit(group, count - 1)
    try:
        cut_power(cluster, worker)
        watch.injected(f"EC2 reclaimed {worker}, and has no other")
        watch.until("HyperPod waits for another", lambda: list(cluster.to_come()), [worker])
    finally:
        cluster.shortage.end()
    watch.repaired("EC2 has another instance")


SPOT_RECLAIMED = Fault(
    name="spot-reclaimed",
    title="EC2 reclaims a spot instance",
    sees="The node is `down` in sinfo, and the job is requeued (`Restarts=1`). `slurmpod status`"
    " shows one node less in service, and this one `Pending` with HyperPod's sentence on capacity."
    " Jobs on other nodes continue. There is no warning: it is not documented that HyperPod passes"
    " EC2's two-minute notice on to nodes.",
    logged="slurmctld.log says that the node was set to DOWN, and that the job was requeued due to"
    " its failure; the cluster's events (ListClusterEvents) name the new instance when it exists.",
    recovers="HyperPod requests another instance from EC2 until there is one: it has the same name"
    " and address, and the job starts there again, from its last checkpoint. Jobs that can use any"
    " node need not wait.",
    act=_spot_reclaimed,
    need=Need.CONTINUOUS,
    strike=_strike_spot,
)


def _plan_ends(cluster: FaultCluster, watch: Watch) -> None:
    """The training plan of all workers ends during a job; then it is active again, like a new one.

    AWS itself reclaims the plan's instances.
    """
    before, plan = cluster.instances(), cluster.group_of(cluster.workers[0])["TrainingPlanArn"]
    job = SteadyJob.start(cluster, watch, f"--nodes={len(cluster.workers)}")
    cluster.shortage.end_plan(plan)
    try:
        watch.injected("the training plan of all workers has ended")
        for node in cluster.workers:
            watch.until("Slurm marks it down", partial(cluster.is_down, node), wanted=True)
        watch.until("the job waits", lambda: (job.state, job.restarts), ("PENDING", 1))
        watch.until("no node is left", lambda: set(cluster.to_come()), set(cluster.workers))
        watch.noticed("the job waits in the queue, and there are no nodes for it")
    finally:
        cluster.shortage.end()
    _give_another(cluster, watch, cluster.workers, before)
    job.wait_until_it_runs()
    watch.recovered("all nodes are back, the job runs again")
    job.finish()


PLAN_ENDS = Fault(
    name="plan-ends",
    title="The training plan of all workers ends",
    sees="All nodes of the group are `down` in sinfo, and their jobs are requeued. `slurmpod"
    " status` shows the group `0/2 in service, its training plan has ended`; `slurmpod why`"
    " reports this for a node, for a waiting job, and without a name.",
    logged="DescribeCluster: `TrainingPlanStatus` of the group is `Expired`. slurmctld.log says"
    " that each node was set to DOWN, but not why.",
    recovers="Nothing, until the group has another plan: `slurmpod capacity search` and `buy`, its"
    " ARN in the file, `slurmpod deploy`. Jobs then start again from their last checkpoint. A plan"
    " that has not ended yet can be extended: `slurmpod capacity extend`.",
    act=_plan_ends,
    need=Need.PLAN,
)


def _zone_fails(cluster: FaultCluster, watch: Watch) -> None:
    """All workers are lost with their zone; the controller is in another."""
    before = cluster.instances()
    job = SteadyJob.start(cluster, watch, f"--nodes={len(cluster.workers)}")
    with _taken_back(cluster, watch, cluster.workers, job):
        waiting = SteadyJob.submit(cluster, watch)
        watch.until("jobs can be submitted", lambda: waiting.state, "PENDING")
    _give_another(cluster, watch, cluster.workers, before)
    job.wait_until_it_runs()
    watch.recovered("all nodes are back, the job runs again")
    job.finish()
    waiting.wait_until_it_runs()
    waiting.finish()


ZONE_FAILS = Fault(
    name="zone-fails",
    title="The zone of all workers fails",
    sees="All nodes there are `down` in sinfo, and their jobs are requeued. Slurm answers, as its"
    " controller is in another zone: jobs can be submitted, and wait. `slurmpod status` shows the"
    " group `0/2 in service`, and `slurmpod why` names the zone.",
    logged="slurmctld.log says that each node was set to DOWN.",
    recovers="HyperPod requests new instances from EC2 until the zone has some; the nodes keep"
    " their names and addresses, and jobs start again from their last checkpoint.",
    act=_zone_fails,
    need=Need.OTHER_ZONE,
)


@contextlib.contextmanager
def _taken_back(
    cluster: FaultCluster, watch: Watch, nodes: Sequence[str], job: SteadyJob
) -> Iterator[None]:
    """Let the instances of a job end, with no others available while the block runs."""
    group, count = group_and_count(cluster)
    log = cluster.log(cluster.controller, SLURMCTLD_LOG)
    cluster.shortage.limit(group, count - len(nodes))
    try:
        for node in nodes:
            cut_power(cluster, node)
        watch.injected(f"EC2 reclaimed {' and '.join(nodes)}, and has no other")
        for node in nodes:
            watch.until("Slurm marks it down", partial(cluster.is_down, node), wanted=True)
            says_so = partial(log.says, f"node {node} state set to DOWN")
            watch.until("slurmctld.log says so", says_so, wanted=True)
        watch.until("the job waits", lambda: (job.state, job.restarts), ("PENDING", 1))
        watch.until("HyperPod waits, too", lambda: set(cluster.to_come()), set(nodes))
        watch.noticed("the job waits in the queue, and HyperPod for instances")
        yield
    finally:
        cluster.shortage.end()


def _give_another(
    cluster: FaultCluster, watch: Watch, nodes: Sequence[str], before: Mapping[str, str]
) -> None:
    """Wait until nodes have new instances, now that some are available."""
    watch.repaired("there are instances again")
    for node in nodes:
        is_new = partial(cluster.has_successor, node, before[node])
        watch.until(f"{node} has a new instance", is_new, wanted=True)
        watch.until(f"{node} is set up", partial(cluster.is_set_up, node), wanted=True)
        is_told = partial(cluster.has_event, cluster.instances()[node], REPLACED)
        watch.until(f"{node} is in the events", is_told, wanted=True)
