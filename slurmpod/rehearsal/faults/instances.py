"""Replacement faults: immediate, paired and failing replacements, and many new workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from slurmpod.operations.lifecycle import MARK
from slurmpod.rehearsal.faults.cluster import (
    ENDED,
    FAILED,
    NOT_REPLACED,
    REPLACED,
    SUCCEEDED,
    FaultCluster,
)
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.interventions import cut_power, entry_script
from slurmpod.rehearsal.faults.scaling import SCALING_SECONDS, scale
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch
from slurmpod.rehearsal.slurmctld_log import SLURMCTLD_LOG


def _worker_dies_at_once(cluster: FaultCluster, watch: Watch) -> None:
    """A new node dies as soon as its scripts have ended."""
    worker, first = cluster.workers[0], cluster.instances()[cluster.workers[0]]
    bystander = SteadyJob.start(cluster, watch, f"--exclude={worker}")
    cluster.replace(worker)
    watch.until("a new one exists", lambda: cluster.has_successor(worker, first), wanted=True)
    watch.until("it is set up", lambda: cluster.is_set_up(worker), wanted=True)
    second = cluster.instances()[worker]
    cut_power(cluster, worker)
    watch.injected(f"{worker} died as soon as its scripts had ended")
    watch.until(
        "HyperPod notices", lambda: cluster.has_successor(worker, first, second), wanted=True
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
    watch.recovered(f"{worker} accepts jobs")
    SteadyJob.start(cluster, watch, f"--nodelist={worker}").finish()
    bystander.finish()


WORKER_DIES_AT_ONCE = Fault(
    name="worker-dies-at-once",
    title="A worker dies right after its scripts",
    sees="The node is in `sinfo` briefly, then `down`; it takes as long again as a new node.",
    logged="Its stream in CloudWatch Logs ends with `The lifecycle scripts succeeded.`; the next"
    " instance has another one. With continuous provisioning, the cluster's events"
    " (ListClusterEvents) also name both.",
    recovers="HyperPod replaces it again. No job was lost: none ran there.",
    act=_worker_dies_at_once,
)


def _two_replaced(cluster: FaultCluster, watch: Watch) -> None:
    """Two nodes are replaced at the same time, one of them with a job."""
    pair, before = cluster.workers[:2], cluster.instances()
    job = SteadyJob.start(cluster, watch, f"--nodelist={pair[0]}")
    log = cluster.log(cluster.controller, SLURMCTLD_LOG)
    for worker in pair:
        cut_power(cluster, worker)
    watch.injected(f"{' and '.join(pair)} have no power")
    for worker in pair:
        is_new = partial(cluster.has_successor, worker, before[worker])
        watch.until(f"{worker} has a new instance", is_new, wanted=True)
    watch.noticed("HyperPod replaces both at the same time")
    for worker in pair:
        watch.until(f"{worker} is set up", partial(cluster.is_set_up, worker), wanted=True)
        is_told = partial(cluster.has_event, cluster.instances()[worker], REPLACED)
        watch.until(f"{worker} is in the events", is_told, wanted=True)
        says_so = partial(log.says, f"node {worker} state set to DOWN")
        watch.until("slurmctld.log says so", says_so, wanted=True)
    job.wait_until_it_runs()
    watch.until("it was restarted once", lambda: job.restarts, 1)
    watch.until("both are in service", lambda: cluster.state(pair[1]), "idle")
    watch.recovered("both accept jobs, the job runs again")
    job.finish()


def _strike_two(cluster: FaultCluster, watch: Watch, nodes: Sequence[str]) -> None:
    """Let two nodes die, the last ones of a job if it has as many."""
    pair = [*dict.fromkeys((*reversed(nodes), *cluster.workers))][:2]
    for worker in pair:
        cut_power(cluster, worker)
    watch.injected(f"{' and '.join(pair)} have no power")


TWO_REPLACED = Fault(
    name="two-replaced",
    title="Two nodes are replaced at once",
    sees="Both are `down` in sinfo for a while; jobs that ran there are requeued.",
    logged="slurmctld.log says that both were set to DOWN; each new instance has its own stream in"
    " CloudWatch Logs. With continuous provisioning, the cluster's events (ListClusterEvents) also"
    " name both.",
    recovers="Both are replaced in parallel, in the time that one takes; names and addresses stay.",
    act=_two_replaced,
    strike=_strike_two,
)


_HELD = "these scripts wait to fail"
_FLAG = "/run/fail"
_HOLD = f"""#!/bin/bash
echo {_HELD}
until [ -e {_FLAG} ]; do sleep 0.1; done
exit 1
"""
"""Replaces the scripts, so that the fault knows when they run and can act before they end."""


def _replacement_fails(cluster: FaultCluster, watch: Watch) -> None:
    """Two replacements of a node die before their scripts have ended; the scripts of two fail."""
    worker = cluster.workers[0]
    job = SteadyJob.start(cluster, watch, f"--nodelist={worker}")
    died = _failed_replacements(cluster, watch, cut_power, "died while its scripts ran")
    job.wait_until_it_runs()
    failed = _failed_replacements(cluster, watch, _let_scripts_fail, "has scripts that fail")
    job.wait_until_it_runs()
    watch.until("it was restarted each time", lambda: job.restarts, 2)
    watch.recovered("the third replacement accepts jobs, the job runs again")
    job.finish()
    for instance in failed:
        last_line = partial(_last_line, cluster, instance)
        watch.until("its stream says so", last_line, FAILED)
    for instance in died:
        tells_an_end = partial(_tells_an_end, cluster, instance)
        watch.until("its stream does not show how they ended", tells_an_end, wanted=False)


def _failed_replacements(
    cluster: FaultCluster, watch: Watch, fail: Callable[[FaultCluster, str], None], how: str
) -> tuple[str, str]:
    """Let a worker die, and its next two replacements fail; return those once the third works."""
    worker = cluster.workers[0]
    before = cluster.instances()[worker]
    with entry_script(cluster, worker, _HOLD):
        cut_power(cluster, worker)
        watch.injected(f"{worker} has no power")
        first = _wait_for_next(cluster, watch, before)
        fail(cluster, worker)
        watch.noticed(f"the first replacement {how}")
        second = _wait_for_next(cluster, watch, before, first)
    fail(cluster, worker)
    watch.noticed(f"the second replacement {how}")
    is_next = partial(cluster.has_successor, worker, before, first, second)
    watch.until("the third one exists", is_next, wanted=True)
    watch.until("it is set up", lambda: cluster.is_set_up(worker), wanted=True)
    third = cluster.instances()[worker]
    for instance, text in ((first, NOT_REPLACED), (second, NOT_REPLACED), (third, REPLACED)):
        is_told = partial(cluster.has_event, instance, text)
        watch.until(f"{instance} is in the events", is_told, wanted=True)
    return first, second


def _wait_for_next(cluster: FaultCluster, watch: Watch, *former: str) -> str:
    """Wait until the scripts of a worker's next instance run, and return its id."""
    worker = cluster.workers[0]
    watch.until("the next one exists", lambda: cluster.has_successor(worker, *former), wanted=True)
    watch.until("its scripts run", lambda: cluster.scripts_said(worker, _HELD), wanted=True)
    return cluster.instances()[worker]


def _let_scripts_fail(cluster: FaultCluster, worker: str) -> None:
    cluster.root(worker).run(["touch", _FLAG])


def _last_line(cluster: FaultCluster, instance: str) -> str:
    """Return the last line of an instance's stream."""
    return cluster.printed_by(instance).rpartition("\n")[2]


def _tells_an_end(cluster: FaultCluster, instance: str) -> bool:
    return _last_line(cluster, instance).startswith(ENDED)


REPLACEMENT_FAILS = Fault(
    name="replacement-fails",
    title="A replacement fails twice",
    sees="The node stays `down` for the duration of three replacements; the job waits in the"
    " queue. It makes no difference whether the new instances die or their scripts fail.",
    logged="Each instance has its own stream in CloudWatch Logs: if the scripts failed, it ends"
    " with `The lifecycle scripts failed.`; if the instance died, it does not show how they ended."
    " With continuous provisioning, the cluster's events (ListClusterEvents) also name each"
    " attempt.",
    recovers="The next attempt is automatic. In the rehearsal a node is in status Failure after"
    " three of them; then replace it manually.",
    act=_replacement_fails,
)


_MORE = 16


def _many_joining(cluster: FaultCluster, watch: Watch) -> None:
    """Sixteen nodes join a cluster in service at the same time, and leave it again."""
    job = SteadyJob.start(cluster, watch)
    count = len(cluster.workers)
    before = set(cluster.instances().values())
    target = cluster.group_of(cluster.workers[0])["TargetCount"]
    scale(cluster, watch, target + _MORE)
    try:
        watch.injected(f"{_MORE} nodes join {count}")
        watch.until(
            "all are idle or busy",
            lambda: _ready(cluster),
            count + _MORE,
            seconds=SCALING_SECONDS,
        )
        joined = set(cluster.instances().values()) - before
        watch.until("their scripts report", lambda: _reporting(cluster, joined), joined)
        watch.recovered(f"all {_MORE} accept jobs")
        others = f"--nodes={count + _MORE - 1}"  # the job may use a whole node
        cluster.user.run(["srun", f"--partition={cluster.partition}", others, "hostname"])
        job.wait_until_it_writes()
    finally:
        scale(cluster, watch, target)
    watch.until("they are gone", lambda: _ready(cluster), count, seconds=SCALING_SECONDS)
    watch.recovered("they left again, the job was not disturbed")
    job.finish()


def _ready(cluster: FaultCluster) -> int:
    """Return the number of nodes of the partition that accept jobs; 0 if others exist."""
    command = ["sinfo", "--noheader", "--Node", f"--partition={cluster.partition}", "--format=%T"]
    states = cluster.user.run(command).split()
    return len(states) if set(states) <= {"idle", "mixed", "allocated"} else 0


def _reporting(cluster: FaultCluster, instances: set[str]) -> set[str]:
    """Return the instances in whose streams `slurmpod lifecycle report` finds their report."""
    return {each for each in instances if f"\n{MARK} {{" in cluster.printed_by(each)}


MANY_JOINING = Fault(
    name="many-joining",
    title="Sixteen nodes join together",
    sees="`sinfo` shows each new node as soon as it is ready; running jobs are not affected.",
    logged="Every node's stream in CloudWatch Logs; `slurmpod lifecycle report` shows the duration"
    " of each step on each node.",
    recovers="Nodes that find a file system or controller busy retry, each at a different moment.",
    act=_many_joining,
)
