"""A worker loses its power while a job runs on it: nobody is told."""

from __future__ import annotations

from functools import partial

from slurmpod.rehearsal.faults.cluster import REPLACED, FaultCluster
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.interventions import cut_power
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch
from slurmpod.rehearsal.slurmctld_log import SLURMCTLD_LOG


def _act(cluster: FaultCluster, watch: Watch) -> None:
    worker = cluster.workers[0]
    before = cluster.instances()
    job = SteadyJob.start(cluster, watch, f"--nodelist={worker}")
    bystander = SteadyJob.start(cluster, watch, f"--exclude={worker}")
    log = cluster.log(cluster.controller, SLURMCTLD_LOG)
    cut_power(cluster, worker)
    watch.injected(f"{worker} has no power")
    watch.until("Slurm knows", lambda: cluster.state(worker) in DOWN, wanted=True)
    watch.noticed(f"sinfo shows {worker} as {cluster.state(worker)}")
    watch.until("the job waits for the node", lambda: (job.state, job.restarts), ("PENDING", 1))
    for text in (f"node {worker} state set to DOWN", job.requeued_from(worker)):
        watch.until("slurmctld.log says so", partial(log.says, text), wanted=True)
    bystander.wait_until_it_writes()
    watch.until(
        "it is another instance", lambda: cluster.has_successor(worker, before[worker]), wanted=True
    )
    after = cluster.instances()[worker]
    watch.until("its successor is set up", lambda: cluster.is_set_up(worker), wanted=True)
    watch.until("it is an event", lambda: cluster.has_event(after, REPLACED), wanted=True)
    watch.recovered("a new instance has the node's name and address")
    job.wait_until_it_runs()
    watch.recovered("the job runs there again")
    for each in (job, bystander):
        each.finish()


DOWN = {"down", "down*"}

FAULT = Fault(
    name="worker-power-cut",
    title="A worker dies silently during a job",
    sees="The node is `down` in sinfo, and the job back in the queue (`Restarts=1`): it starts anew"
    " on another node, or on this one if it asked for it. Jobs on other nodes go on.",
    logged="slurmctld.log says that the node was set down, and that the job was requeued due to its"
    " failure; the new instance has a stream of its own in CloudWatch Logs. With continuous"
    " provisioning the cluster's events (ListClusterEvents) name the new instance, too; other"
    " clusters have no events.",
    recovers="HyperPod puts a new instance in its place, with the same name and address, and runs"
    " the scripts there. Slurm requeues the job by itself (`JobRequeue=1`); it loses what it did"
    " since its last checkpoint.",
    act=_act,
)
