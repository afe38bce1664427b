"""A worker and the controller do not reach each other: shortly, then for long."""

from __future__ import annotations

from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.interventions import cut_network
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch
from slurmpod.rehearsal.shell import CommandFailed
from slurmpod.rehearsal.slurmctld_log import SLURMCTLD_LOG

SILENT = "not responding"


def _act(cluster: FaultCluster, watch: Watch) -> None:
    worker = cluster.workers[0]
    job = SteadyJob.start(cluster, watch, f"--nodelist={worker}")
    bystander = SteadyJob.start(cluster, watch, f"--exclude={worker}")
    log = cluster.log(cluster.controller, SLURMCTLD_LOG)
    with cut_network(cluster, worker, cluster.controller):
        watch.injected(f"{worker} and the controller do not reach each other")
        watch.until("commands there fail", lambda: _answers(cluster, worker), wanted=False)
        watch.noticed(f"squeue on {worker} fails; its job goes on")
        job.wait_until_it_writes()
        watch.until("sinfo shows it as before", lambda: cluster.state(worker), "mixed")
    watch.mended("the network is whole again, before SlurmdTimeout was over")
    watch.until("commands there work", lambda: _answers(cluster, worker), wanted=True)
    watch.until("the node answers", lambda: cluster.state(worker), "mixed")
    watch.until("the job was not touched", lambda: (job.state, job.restarts), ("RUNNING", 0))
    watch.until("nothing of it is logged", lambda: log.says(SILENT), wanted=False)
    watch.recovered(f"{worker} answers; its job was never disturbed")
    for each in (job, bystander):
        each.wait_until_it_writes()
        each.finish()


def _answers(cluster: FaultCluster, node: str) -> bool:
    """Tell whether Slurm's commands reach the controller from a node."""
    try:
        cluster.root(node).run(["timeout", "2", "squeue", "--noheader"])
    except CommandFailed:
        return False
    return True


FAULT = Fault(
    name="network-cut",
    title="The network between a worker and the controller is cut for a moment",
    sees="Slurm's commands on that node fail. Its jobs go on, and `sinfo` shows it as before.",
    logged="Nothing: slurmctld.log names a node (`Nodes ... not responding`) only when it has"
    " waited for it in vain.",
    recovers="Everything, by itself, if the network is back before SlurmdTimeout is over (300 s"
    " unless you set it).",
    act=_act,
)
