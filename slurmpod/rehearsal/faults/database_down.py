"""slurmdbd and its database stop, jobs begin and end meanwhile, and both come back."""

from __future__ import annotations

import re

from slurmpod.rehearsal.faults.cluster import FaultCluster, NodeLog
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch
from slurmpod.rehearsal.shell import CommandFailed
from slurmpod.rehearsal.slurmctld_log import SLURMCTLD_LOG

REFUSALS = 3
"""How often slurmctld, which tries again every few seconds, fails before both are back."""

_STOP = ("systemctl", "stop", "slurmdbd", "mariadb")
_START = ("systemctl", "start", "mariadb", "slurmdbd")
REFUSED = "Sending PersistInit msg: Connection refused"


def _act(cluster: FaultCluster, watch: Watch) -> None:
    controller = cluster.root(cluster.controller)
    before = SteadyJob.start(cluster, watch)
    log = cluster.log(cluster.controller, SLURMCTLD_LOG)
    try:
        controller.run(_STOP)
        watch.injected(f"slurmdbd and MariaDB on {cluster.controller} are down")
        watch.until("sacct fails", lambda: _sacct_answers(cluster), wanted=False)
        watch.noticed("sacct fails; sbatch, squeue and jobs do not")
        during = SteadyJob.start(cluster, watch)
        before.finish()
        watch.until("slurmctld keeps records", lambda: waiting_records(cluster) > 0, wanted=True)
        first = waiting_records(cluster)
        watch.until("it says why, each time", lambda: _refusals(log) >= REFUSALS, wanted=True)
        during.finish()
        after = SteadyJob.start(cluster, watch)
        watch.until("more wait", lambda: waiting_records(cluster) > first, wanted=True)
        kept = waiting_records(cluster)
    finally:
        controller.run(_START)
    watch.mended(f"both are up again; slurmctld had kept {kept} records")
    watch.until("slurmctld hands all over", lambda: waiting_records(cluster), 0)
    watch.recovered("every record is in the database")
    after.finish()


def waiting_records(cluster: FaultCluster) -> int:
    """Return how many records slurmctld keeps for a database that does not take them."""
    shown = cluster.user.run(["sdiag"])
    found = re.search(r"DBD Agent queue size:\s*(\d+)", shown)
    return int(found.group(1)) if found else -1


def _refusals(log: NodeLog) -> int:
    return log.new().count(REFUSED)


def _sacct_answers(cluster: FaultCluster) -> bool:
    try:
        cluster.user.run(["sacct", "--noheader"])
    except CommandFailed:
        return False
    return True


FAULT = Fault(
    name="database-down",
    title="slurmdbd and the database go down and come back",
    sees="`sacct` and `sacctmgr` fail: `Unable to contact slurm database` or `Connection"
    " refused`. Jobs are submitted, run and end as always.",
    logged="slurmctld.log: `error: Sending PersistInit msg: Connection refused`; `sdiag` shows"
    " how many records wait (`DBD Agent queue size`).",
    recovers="slurmctld keeps the records, also on disk, and hands them over as soon as slurmdbd"
    " answers. systemd starts a slurmdbd or a MariaDB that died by itself.",
    act=_act,
)
