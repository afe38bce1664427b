"""Two nodes are replaced at the same time, one of them with a job."""

from __future__ import annotations

from functools import partial

from slurmpod.rehearsal.faults.cluster import REPLACED, FaultCluster
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.interventions import cut_power
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch
from slurmpod.rehearsal.slurmctld_log import SLURMCTLD_LOG


def _act(cluster: FaultCluster, watch: Watch) -> None:
    pair, before = cluster.workers[:2], cluster.instances()
    job = SteadyJob.start(cluster, watch, f"--nodelist={pair[0]}")
    log = cluster.log(cluster.controller, SLURMCTLD_LOG)
    for worker in pair:
        cut_power(cluster, worker)
    watch.injected(f"{' and '.join(pair)} have no power")
    for worker in pair:
        is_new = partial(cluster.has_successor, worker, before[worker])
        watch.until(f"{worker} is another instance", is_new, wanted=True)
    watch.noticed("HyperPod replaces both at the same time")
    for worker in pair:
        watch.until(f"{worker} is set up", partial(cluster.is_set_up, worker), wanted=True)
        is_told = partial(cluster.has_event, cluster.instances()[worker], REPLACED)
        watch.until(f"{worker} is in the events", is_told, wanted=True)
        says_so = partial(log.says, f"node {worker} state set to DOWN")
        watch.until("slurmctld.log says so", says_so, wanted=True)
    job.wait_until_it_runs()
    watch.until("it was started anew once", lambda: job.restarts, 1)
    watch.until("both are in service", lambda: cluster.state(pair[1]), "idle")
    watch.recovered("both take jobs, the job runs again")
    job.finish()


FAULT = Fault(
    name="two-replaced",
    title="Two nodes are replaced at once",
    sees="Both are `down` in sinfo for a while; jobs that ran there are back in the queue.",
    logged="slurmctld.log says of both that they were set down; each new instance has a stream of"
    " its own in CloudWatch Logs. With continuous provisioning the cluster's events"
    " (ListClusterEvents) name both, too.",
    recovers="Both are replaced side by side, in the time that one takes; names and addresses"
    " stay.",
    act=_act,
)
