"""A new node dies as soon as its scripts have ended."""

from __future__ import annotations

from functools import partial

from slurmpod.rehearsal.faults.cluster import REPLACED, SUCCEEDED, FaultCluster
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.interventions import cut_power
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch


def _act(cluster: FaultCluster, watch: Watch) -> None:
    worker, first = cluster.workers[0], cluster.instances()[cluster.workers[0]]
    bystander = SteadyJob.start(cluster, watch, f"--exclude={worker}")
    cluster.replace(worker)
    watch.until("a new one comes", lambda: cluster.has_successor(worker, first), wanted=True)
    watch.until("it is set up", lambda: cluster.is_set_up(worker), wanted=True)
    second = cluster.instances()[worker]
    cut_power(cluster, worker)
    watch.injected(f"{worker} died as soon as its scripts had ended")
    watch.until(
        "HyperPod sees it", lambda: cluster.has_successor(worker, first, second), wanted=True
    )
    watch.noticed("HyperPod replaces it again")
    third = cluster.instances()[worker]
    watch.until(
        "its stream ends well", lambda: cluster.printed_by(second).endswith(SUCCEEDED), wanted=True
    )
    watch.until("the next one is set up", lambda: cluster.is_set_up(worker), wanted=True)
    for instance in (second, third):
        is_told = partial(cluster.has_event, instance, REPLACED)
        watch.until(f"{instance} is in the events", is_told, wanted=True)
    watch.until("the node is in service", lambda: cluster.state(worker), "idle")
    watch.recovered(f"{worker} takes jobs")
    SteadyJob.start(cluster, watch, f"--nodelist={worker}").finish()
    bystander.finish()


FAULT = Fault(
    name="worker-dies-at-once",
    title="A worker dies at once after its scripts",
    sees="The node is in `sinfo` for a moment, then `down`; it takes as long again as a new node.",
    logged="Its stream in CloudWatch Logs ends with `The lifecycle scripts succeeded.`; the next"
    " instance has another one. With continuous provisioning the cluster's events"
    " (ListClusterEvents) name both, too.",
    recovers="HyperPod replaces it again. No job was lost: none ran there.",
    act=_act,
)
