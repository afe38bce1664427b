"""The lifecycle scripts are run again on a node with a job: once, then twice at the same time."""

from __future__ import annotations

import re

from slurmpod.rehearsal.faults.cluster import PROVISIONING_LOG, FaultCluster, NodeLog
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.interventions import scripts_run
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch

_CHANGED = "find /etc /opt/slurm/etc -xdev -newer /run/before -type f"


_ALWAYS_DONE = {"identify", "self_check"}
"""Steps that only look: there is nothing for them to find done."""


def _act(cluster: FaultCluster, watch: Watch) -> None:
    for node in (cluster.workers[0], cluster.controller):
        _run_again(cluster, watch, node)


def _run_again(cluster: FaultCluster, watch: Watch, node: str) -> None:
    root, job = cluster.root(node), SteadyJob.start(cluster, watch)
    log = cluster.log(node, PROVISIONING_LOG)
    root.run(["touch", "/run/before"])
    watch.injected(f"the scripts run again on {node}, while a job runs")
    with scripts_run(cluster, node) as once:
        once.require_success(watch)
    with scripts_run(cluster, node) as one, scripts_run(cluster, node) as other:
        for run in (one, other):
            run.require_success(watch)
    watch.until("all was already done", lambda: _done_again(log), _ALWAYS_DONE)
    watch.until("no file was changed", lambda: root.run(["sh", "-c", _CHANGED]), "")
    watch.until("the job runs on", lambda: job.state, "RUNNING")
    job.wait_until_it_writes()
    watch.recovered("all runs ended well, no file was changed, the job was not disturbed")
    job.finish()


def _done_again(log: NodeLog) -> set[str]:
    """Return the steps that did not find themselves done in one of the runs."""
    return set(re.findall(r"^\S+ (\w+): (?!already done)", log.new(), re.MULTILINE))


FAULT = Fault(
    name="scripts-twice",
    title="The scripts are run twice on one node",
    sees="Nothing: steps find themselves done, no configuration file changes, jobs go on.",
    logged="/var/log/provision/provisioning.log on the node: `already done` for every step"
    " that changes anything.",
    recovers="There is nothing to recover, also when two runs meet each other.",
    act=_act,
)
