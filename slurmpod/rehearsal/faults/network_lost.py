"""A worker and the controller do not reach each other for longer than Slurm waits."""

from __future__ import annotations

from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.interventions import cut_network
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch
from slurmpod.rehearsal.slurmctld_log import SLURMCTLD_LOG

GIVEN_UP = "Nodes {} not responding, setting DOWN"
WAITS = "slurmd: waiting: the controller does not answer"


def _act(cluster: FaultCluster, watch: Watch) -> None:
    worker, before = cluster.workers[0], cluster.instances()[cluster.workers[0]]
    job = SteadyJob.start(cluster, watch, f"--nodelist={worker}")
    bystander = SteadyJob.start(cluster, watch, f"--exclude={worker}")
    log = cluster.log(cluster.controller, SLURMCTLD_LOG)
    with cut_network(cluster, worker, cluster.controller):
        watch.injected(f"{worker} and the controller do not reach each other")
        watch.until("Slurm gives the node up", lambda: job.restarts, 1)
        watch.until("it says so", lambda: log.says(GIVEN_UP.format(worker)), wanted=True)
        watch.until("and why", lambda: log.says(job.requeued_from(worker)), wanted=True)
        watch.noticed(f"{worker} is down, its job is back in the queue")
        watch.until("it is replaced", lambda: cluster.has_successor(worker, before), wanted=True)
        watch.until("its successor waits", lambda: cluster.scripts_said(worker, WAITS), wanted=True)
        watch.noticed("the scripts of the node's successor wait for the controller")
        bystander.wait_until_it_writes()
    watch.mended("the network is whole again")
    watch.until("the node is set up", lambda: cluster.is_set_up(worker), wanted=True)
    job.wait_until_it_runs()
    watch.recovered("the job runs there again")
    for each in (job, bystander):
        each.finish()


FAULT = Fault(
    name="network-lost",
    title="The network between a worker and the controller is cut for long, then healed",
    sees="After SlurmdTimeout (300 s unless you set it) the node is `down*`, `Not responding`, and"
    " its jobs are back in the queue. Jobs on other nodes notice nothing.",
    logged="slurmctld.log: `Nodes ... not responding, setting DOWN` and `requeue job ... due to"
    " failure of node ...`; the stream of the new"
    " instance in CloudWatch Logs: `slurmd: waiting: the controller does not answer at ...`.",
    recovers="HyperPod replaces the node where NodeRecovery is Automatic, and the new one joins"
    " when the network is back. Where it does not, the node returns by itself, but slurmctld looks"
    " at nodes that are down only every 20th of its pings (of a third of SlurmdTimeout each);"
    " `scontrol update nodename=... state=resume` returns it at once.",
    act=_act,
    customer_mode_only=True,
)
