"""Two replacements of a node die before their scripts have ended; then the scripts of two fail."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from slurmpod.rehearsal.faults.cluster import ENDED, FAILED, NOT_REPLACED, REPLACED, FaultCluster
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.interventions import cut_power, entry_script
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch

HELD = "these scripts wait to fail"
_FLAG = "/run/fail"
_HOLD = f"""#!/bin/bash
echo {HELD}
until [ -e {_FLAG} ]; do sleep 0.1; done
exit 1
"""
"""In place of the scripts, so that it is known when they run, and in their middle."""


def _act(cluster: FaultCluster, watch: Watch) -> None:
    worker = cluster.workers[0]
    job = SteadyJob.start(cluster, watch, f"--nodelist={worker}")
    died = _replaced_in_vain(cluster, watch, cut_power, "died while its scripts ran")
    job.wait_until_it_runs()
    failed = _replaced_in_vain(cluster, watch, _let_scripts_fail, "has scripts that fail")
    job.wait_until_it_runs()
    watch.until("it was started anew each time", lambda: job.restarts, 2)
    watch.recovered("the third successor takes jobs, the job runs again")
    job.finish()
    for instance in failed:
        last_line = partial(_last_line, cluster, instance)
        watch.until("its stream says so", last_line, FAILED)
    for instance in died:
        tells_an_end = partial(_tells_an_end, cluster, instance)
        watch.until("its stream does not tell how they ended", tells_an_end, wanted=False)


def _replaced_in_vain(
    cluster: FaultCluster, watch: Watch, fail: Callable[[FaultCluster, str], None], how: str
) -> tuple[str, str]:
    """Let a worker die, and its next two successors fail; returns those when the third is good."""
    worker = cluster.workers[0]
    before = cluster.instances()[worker]
    with entry_script(cluster, worker, _HOLD):
        cut_power(cluster, worker)
        watch.injected(f"{worker} has no power")
        first = _wait_for_next(cluster, watch, before)
        fail(cluster, worker)
        watch.noticed(f"the first successor {how}")
        second = _wait_for_next(cluster, watch, before, first)
    fail(cluster, worker)
    watch.noticed(f"the second successor {how}")
    is_next = partial(cluster.has_successor, worker, before, first, second)
    watch.until("the third", is_next, wanted=True)
    watch.until("it is set up", lambda: cluster.is_set_up(worker), wanted=True)
    third = cluster.instances()[worker]
    for instance, text in ((first, NOT_REPLACED), (second, NOT_REPLACED), (third, REPLACED)):
        is_told = partial(cluster.has_event, instance, text)
        watch.until(f"{instance} is in the events", is_told, wanted=True)
    return first, second


def _wait_for_next(cluster: FaultCluster, watch: Watch, *former: str) -> str:
    """Wait until the scripts of a worker's next instance run, and return its id."""
    worker = cluster.workers[0]
    watch.until("the next", lambda: cluster.has_successor(worker, *former), wanted=True)
    watch.until("its scripts run", lambda: cluster.scripts_said(worker, HELD), wanted=True)
    return cluster.instances()[worker]


def _let_scripts_fail(cluster: FaultCluster, worker: str) -> None:
    cluster.root(worker).run(["touch", _FLAG])


def _last_line(cluster: FaultCluster, instance: str) -> str:
    """Return the last line of an instance's stream."""
    return cluster.printed_by(instance).rpartition("\n")[2]


def _tells_an_end(cluster: FaultCluster, instance: str) -> bool:
    return _last_line(cluster, instance).startswith(ENDED)


FAULT = Fault(
    name="replacement-fails",
    title="A replacement fails twice",
    sees="The node stays `down` for as long as three replacements take; the job waits in the"
    " queue. It is the same whether the new instances die or their scripts fail.",
    logged="Each instance has a stream of its own in CloudWatch Logs: where the scripts failed it"
    " ends with `The lifecycle scripts failed with exit code 1.`; of one that died it does not"
    " say how they ended. With continuous provisioning the cluster's events (ListClusterEvents)"
    " name each attempt, too.",
    recovers="The next attempt, by itself. In the rehearsal a node is in status Failure after three"
    " of them; then replace it by hand.",
    act=_act,
)
