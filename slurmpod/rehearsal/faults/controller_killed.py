"""slurmctld is killed while a job runs and another waits."""

from __future__ import annotations

from functools import partial

from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch
from slurmpod.rehearsal.slurmctld_log import SLURMCTLD_LOG

KILLED = "status=9/KILL"
STATE = "/var/spool/slurmctld/job_state"


def _act(cluster: FaultCluster, watch: Watch) -> None:
    controller = cluster.root(cluster.controller)
    running = SteadyJob.start(cluster, watch)
    waiting = SteadyJob.submit(cluster, watch, "--hold")
    watch.until("the jobs are on disk", lambda: _is_saved(cluster, waiting), wanted=True)
    log = cluster.log(cluster.controller, SLURMCTLD_LOG)
    before = _process(cluster)
    controller.run(["kill", "-KILL", before])
    watch.injected(f"slurmctld on {cluster.controller} was killed")
    watch.until(
        "systemd starts it again", lambda: _process(cluster) not in {"0", before}, wanted=True
    )
    killed = ["journalctl", "--unit=slurmctld", "--output=cat", f"--grep=code=killed.*{KILLED}"]
    watch.until("the journal says how", lambda: KILLED in controller.run(killed), wanted=True)
    watch.noticed("systemd started slurmctld again")
    watch.until("it knows the job", lambda: (running.state, running.restarts), ("RUNNING", 0))
    watch.until("it knows the job that waits", lambda: waiting.state, "PENDING")
    for job in (running, waiting):
        says_so = partial(log.says, f"Recovered JobId={job.id} ")
        watch.until("it says so", says_so, wanted=True)
    watch.recovered("both jobs are known, the running one was not disturbed")
    cluster.user.run(["scontrol", "release", waiting.id])
    waiting.wait_until_it_writes()
    watch.recovered("jobs start again")
    for job in (running, waiting):
        job.finish()


def _process(cluster: FaultCluster) -> str:
    show = ["systemctl", "show", "slurmctld", "--property=MainPID", "--value"]
    return cluster.root(cluster.controller).run(show)


def _is_saved(cluster: FaultCluster, job: SteadyJob) -> bool:
    """Tell whether slurmctld's state on disk has a job: it is written some seconds later."""
    count = f"grep --text --count {job.folder.name} {STATE} || true"
    saved = cluster.root(cluster.controller).run(["sh", "-c", count])
    return int(saved) > 0


FAULT = Fault(
    name="controller-killed",
    title="The controller's slurmctld dies while jobs run",
    sees="Slurm's commands fail for some seconds: `Unable to contact slurm controller`. Jobs that"
    " run go on; jobs that wait keep their place.",
    logged="`journalctl -u slurmctld` on the controller says how it ended; slurmctld.log then says"
    " how many jobs it recovered from its state on disk.",
    recovers="systemd starts slurmctld again: our scripts set `Restart=on-failure`, which the"
    " image does not. Nothing is left for a person to do. slurmctld writes its state within 5 s:"
    " submit again what was submitted in the last seconds before and is not in `squeue`.",
    act=_act,
)
