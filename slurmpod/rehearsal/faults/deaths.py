"""Faults of nodes that die during a job: a worker silently or by shutdown, or a batch host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from slurmpod.rehearsal.faults.cluster import REPLACED, FaultCluster
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.interventions import cut_power, power_off
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch
from slurmpod.rehearsal.slurmctld_log import SLURMCTLD_LOG


def _dies_during_a_job(
    die: Callable[[FaultCluster, str], None], how: str, cluster: FaultCluster, watch: Watch
) -> None:
    """A worker dies while a job runs on it, without notice to Slurm."""
    worker = cluster.workers[0]
    before = cluster.instances()
    job = SteadyJob.start(cluster, watch, f"--nodelist={worker}")
    bystander = SteadyJob.start(cluster, watch, f"--exclude={worker}")
    log = cluster.log(cluster.controller, SLURMCTLD_LOG)
    die(cluster, worker)
    watch.injected(f"{worker} {how}")
    watch.until("Slurm marks it down", lambda: cluster.is_down(worker), wanted=True)
    watch.noticed(f"sinfo shows {worker} as {cluster.state(worker)}")
    watch.until("the job waits for the node", lambda: (job.state, job.restarts), ("PENDING", 1))
    for text in (f"node {worker} state set to DOWN", job.requeued_from(worker)):
        watch.until("slurmctld.log says so", partial(log.says, text), wanted=True)
    bystander.wait_until_it_writes()
    watch.until(
        "it has a new instance", lambda: cluster.has_successor(worker, before[worker]), wanted=True
    )
    after = cluster.instances()[worker]
    watch.until("its replacement is set up", lambda: cluster.is_set_up(worker), wanted=True)
    watch.until("an event says so", lambda: cluster.has_event(after, REPLACED), wanted=True)
    watch.recovered("a new instance has the node's name and address")
    job.wait_until_it_runs()
    watch.recovered("the job runs there again")
    for each in (job, bystander):
        each.finish()


_NO_POWER = "has no power"
_OFF = "shut itself down"


def _strike_worker(
    die: Callable[[FaultCluster, str], None],
    how: str,
    cluster: FaultCluster,
    watch: Watch,
    nodes: Sequence[str],
) -> None:
    """Let the last node of a job die: of several, none with its batch script."""
    die(cluster, nodes[-1])
    watch.injected(f"{nodes[-1]} {how}")


WORKER_POWER_CUT = Fault(
    name="worker-power-cut",
    title="A worker dies silently during a job",
    sees="The node is `down` in sinfo, and the job is requeued (`Restarts=1`): it starts again"
    " from the beginning on another node, or on this one if it requested it. Jobs on other nodes"
    " continue.",
    logged="slurmctld.log says that the node was set to DOWN, and that the job was requeued due to"
    " its failure; the new instance has its own stream in CloudWatch Logs. With continuous"
    " provisioning, the cluster's events (ListClusterEvents) also name the new instance; other"
    " clusters have no events.",
    recovers="HyperPod replaces its instance, with the same name and address, and runs the scripts"
    " there. Slurm requeues the job automatically (`JobRequeue=1`); it loses its work since its"
    " last checkpoint.",
    act=partial(_dies_during_a_job, cut_power, _NO_POWER),
    strike=partial(_strike_worker, cut_power, _NO_POWER),
)

WORKER_POWER_OFF = Fault(
    name="worker-power-off",
    title="A worker shuts itself down during a job",
    sees="The same as for one that dies silently. Programs on other nodes see its connections"
    " closed (`Connection closed by peer`), instead of waiting for an answer.",
    logged="The same as for one that dies silently.",
    recovers="The same, also for steps under `--auto-resume=1`: srun itself would wait for the"
    " node's tasks forever, so HyperPod's plugin has to end the step.",
    act=partial(_dies_during_a_job, power_off, _OFF),
    strike=partial(_strike_worker, power_off, _OFF),
)


def _batch_host_power_cut(cluster: FaultCluster, watch: Watch) -> None:
    """The node with the batch script of a two-node job dies."""
    job = SteadyJob.start(cluster, watch, "--nodes=2")
    batch_host, other = cluster.nodes_of(job.id)
    before = cluster.instances()
    _strike_batch_host(cluster, watch, (batch_host, other))
    watch.until("Slurm marks it down", lambda: cluster.is_down(batch_host), wanted=True)
    watch.noticed(f"sinfo shows {batch_host} as {cluster.state(batch_host)}")
    watch.until("the job is requeued", lambda: job.restarts, 1)
    job.wait_until_it_runs()
    watch.recovered("the job started again")
    after = cluster.instances()
    watch.until("one node was replaced", lambda: _changed(before, after), {batch_host})
    job.finish()


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> set[str]:
    """Return the nodes with new instances."""
    return {node for node in before if before[node] != after[node]}


def _strike_batch_host(cluster: FaultCluster, watch: Watch, nodes: Sequence[str]) -> None:
    cut_power(cluster, nodes[0])
    watch.injected(f"{nodes[0]}, with the batch script, {_NO_POWER}")


BATCH_HOST_POWER_CUT = Fault(
    name="batch-host-power-cut",
    title="The node with a job's batch script dies",
    sees="The whole job is requeued (`Restarts=1`), even if its steps are under `--auto-resume=1`:"
    " the batch script that would restart a step is gone.",
    logged="slurmctld.log says that the node was set to DOWN, and that the job was requeued due to"
    " its failure.",
    recovers="HyperPod replaces the node; the job starts again once its nodes are back and resumes"
    " from its last checkpoint. Its earlier output is kept only with `--open-mode=append`.",
    act=_batch_host_power_cut,
    strike=_strike_batch_host,
)
