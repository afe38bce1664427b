"""Controller faults: slurmctld, and slurmdbd with its database."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch
from slurmpod.rehearsal.shell import CommandFailed
from slurmpod.rehearsal.slurmctld_log import SLURMCTLD_LOG

_KILLED = "status=9/KILL"
_STATE = "/var/spool/slurmctld/job_state"


def _controller_killed(cluster: FaultCluster, watch: Watch) -> None:
    """Kill slurmctld while a job runs and another waits."""
    controller = cluster.root(cluster.controller)
    running = SteadyJob.start(cluster, watch)
    waiting = SteadyJob.submit(cluster, watch, "--hold")
    watch.until("the jobs are on disk", lambda: _is_saved(cluster, waiting), wanted=True)
    log = cluster.log(cluster.controller, SLURMCTLD_LOG)
    _strike_slurmctld(cluster, watch, ())
    killed = ["journalctl", "--unit=slurmctld", "--output=cat", f"--grep=code=killed.*{_KILLED}"]
    watch.until("the journal says how", lambda: _KILLED in controller.run(killed), wanted=True)
    watch.noticed("systemd restarted slurmctld")
    watch.until("it knows the job", lambda: (running.state, running.restarts), ("RUNNING", 0))
    watch.until("it knows the waiting job", lambda: waiting.state, "PENDING")
    for job in (running, waiting):
        says_so = partial(log.says, f"Recovered JobId={job.id} ")
        watch.until("its log says so", says_so, wanted=True)
    watch.recovered("both jobs are known, the running one was not disturbed")
    cluster.user.run(["scontrol", "release", waiting.id])
    waiting.wait_until_it_writes()
    watch.recovered("jobs start again")
    for job in (running, waiting):
        job.finish()


def _strike_slurmctld(cluster: FaultCluster, watch: Watch, _: Sequence[str]) -> None:
    before = _process(cluster)
    cluster.root(cluster.controller).run(["kill", "-KILL", before])
    watch.injected(f"slurmctld on {cluster.controller} was killed")
    watch.until("systemd restarts it", lambda: _process(cluster) not in {"0", before}, wanted=True)


def _process(cluster: FaultCluster) -> str:
    show = ["systemctl", "show", "slurmctld", "--property=MainPID", "--value"]
    return cluster.root(cluster.controller).run(show)


def _is_saved(cluster: FaultCluster, job: SteadyJob) -> bool:
    """Return whether slurmctld has saved a job to disk, which takes some seconds."""
    count = f"grep --text --count {job.folder.name} {_STATE} || true"
    saved = cluster.root(cluster.controller).run(["sh", "-c", count])
    return int(saved) > 0


CONTROLLER_KILLED = Fault(
    name="controller-killed",
    title="The controller's slurmctld dies while jobs run",
    sees="Slurm's commands fail for some seconds: `Unable to contact slurm controller`. Running"
    " jobs continue; waiting jobs keep their place.",
    logged="`journalctl -u slurmctld` on the controller has the signal; slurmctld.log then says"
    " how many jobs it recovered from its state on disk.",
    recovers="systemd restarts slurmctld: our scripts set `Restart=on-failure`, which the image"
    " does not. No action is needed. slurmctld writes its state within 5 s: resubmit any job from"
    " the last seconds before the fault that is not in `squeue`.",
    act=_controller_killed,
    strike=_strike_slurmctld,
)


_REFUSALS = 3
"""How many of slurmctld's periodic retries fail before both are back."""

_STOP = ("systemctl", "stop", "slurmdbd", "mariadb")
_START = ("systemctl", "start", "mariadb", "slurmdbd")
_REFUSED = "Sending PersistInit msg: Connection refused"


def _database_down(cluster: FaultCluster, watch: Watch) -> None:
    """Stop slurmdbd and its database, let jobs start and end meanwhile, and start both again."""
    controller = cluster.root(cluster.controller)
    before = SteadyJob.start(cluster, watch)
    log = cluster.log(cluster.controller, SLURMCTLD_LOG)
    try:
        controller.run(_STOP)
        watch.injected(f"slurmdbd and MariaDB on {cluster.controller} are down")
        watch.until("sacct fails", lambda: _sacct_answers(cluster), wanted=False)
        watch.noticed("sacct fails; sbatch, squeue and jobs do not")
        is_told = partial(cluster.slurmdbd_is_told_to_be, "unhealthy: DaemonDown")
        watch.until("an event says so", is_told, wanted=True)
        watch.noticed("the cluster's events, if it has any, say so")
        during = SteadyJob.start(cluster, watch)
        before.finish()
        watch.until("slurmctld keeps records", lambda: waiting_records(cluster) > 0, wanted=True)
        first = waiting_records(cluster)
        watch.until("its log says why", lambda: log.new().count(_REFUSED) >= _REFUSALS, wanted=True)
        during.finish()
        after = SteadyJob.start(cluster, watch)
        watch.until("more wait", lambda: waiting_records(cluster) > first, wanted=True)
        kept = waiting_records(cluster)
    finally:
        controller.run(_START)
    watch.repaired(f"both are up again; slurmctld had queued {kept} records")
    watch.until("slurmctld sends all", lambda: waiting_records(cluster), 0)
    is_told = partial(cluster.slurmdbd_is_told_to_be, " healthy")
    watch.until("an event says that it is back", is_told, wanted=True)
    watch.recovered("every record is in the database")
    after.finish()


_DOWN_SECONDS = 30.0


def _strike_database(cluster: FaultCluster, watch: Watch, _: Sequence[str]) -> None:
    controller = cluster.root(cluster.controller)
    try:
        controller.run(_STOP)
        watch.injected(f"slurmdbd and MariaDB on {cluster.controller} are down")
        watch.hold("they stay down", _DOWN_SECONDS)
    finally:
        controller.run(_START)
    watch.repaired("both are up again")


def waiting_records(cluster: FaultCluster) -> int:
    """Return how many records slurmctld has queued for an unavailable database."""
    shown = cluster.user.run(["sdiag"])
    found = re.search(r"DBD Agent queue size:\s*(\d+)", shown)
    return int(found.group(1)) if found else -1


def _sacct_answers(cluster: FaultCluster) -> bool:
    try:
        cluster.user.run(["sacct", "--noheader"])
    except CommandFailed:
        return False
    return True


DATABASE_DOWN = Fault(
    name="database-down",
    title="slurmdbd and the database go down and come back",
    sees="`sacct` and `sacctmgr` fail: `Unable to contact slurm database` or `Connection refused`."
    " Jobs are submitted, run and end as always. With continuous provisioning, `slurmpod status`"
    " and `slurmpod why` report that slurmdbd does not run.",
    logged="slurmctld.log: `error: Sending PersistInit msg: Connection refused`; `sdiag` shows how"
    " many records wait (`DBD Agent queue size`). With continuous provisioning, the cluster's"
    " events (ListClusterEvents) report that slurmdbd is down, and that it is healthy again.",
    recovers="slurmctld queues the records, also on disk, and sends them as soon as slurmdbd"
    " answers. systemd restarts a slurmdbd or MariaDB that has crashed.",
    act=_database_down,
    strike=_strike_database,
)
