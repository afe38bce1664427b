"""A job under faults: run once undisturbed, then once per fault, and compared."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from slurmpod.operations.cluster_jobs import submit
from slurmpod.operations.copying.copy_job import copy_job
from slurmpod.operations.job_folder import JobFolder
from slurmpod.problems import WorkFailed
from slurmpod.rehearsal.drills.job_run import JobRun, RehearsedShell, follow
from slurmpod.rehearsal.drills.losses import PrintedLosses, step_restarts
from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.fault import Fault, as_fault_failed, patient_watch
from slurmpod.rehearsal.faults.watch import FaultFailed, Moment, Teller, Watch

COMPLETED = "COMPLETED"
PATIENCE_SECONDS = 600.0
"""Extra time that a job gets, besides three times its undisturbed run and Slurm's timeouts."""


@dataclass(frozen=True)
class DrilledJob:
    """A user's job: its folder, the arguments after the script's name, and its Python."""

    folder: JobFolder
    arguments: Sequence[str] = ()
    python: str | None = None


@dataclass(frozen=True)
class DrillReport:
    """The effect of a fault on a job; seconds count from when the job was first seen running.

    `ended_seconds` counts from the fault. `restarts` counts Slurm's restarts of the whole job,
    `step_restarts` those under `--auto-resume=1`. `steps` is the last step printed, `steps_again`
    how many were repeated, each time after one of `resumed_after`. `differing` are steps whose
    losses differ from the undisturbed run, None if nothing could be compared.
    """

    fault: str
    job: str
    state: str
    seconds: float
    undisturbed_seconds: float | None
    ended_seconds: float
    restarts: int
    step_restarts: int
    steps: int
    steps_again: int
    resumed_after: tuple[int, ...]
    contradictory: tuple[int, ...]
    differing: tuple[int, ...] | None
    moments: tuple[Moment, ...]

    @property
    def is_sound(self) -> bool:
        """Whether the job completed with the expected losses."""
        return self.state == COMPLETED and not self.differing and not self.contradictory


def drill(
    cluster: FaultCluster, job: DrilledJob, faults: Sequence[Fault], teller: Teller
) -> tuple[DrillReport, ...]:
    """Run the job undisturbed, then under each fault; each fault must have a strike.

    The folder of each run stays on the cluster, renamed to end with the name of the fault.
    Raises FaultFailed if the job fails undisturbed, ends before a fault or does not end after it.
    """
    shell = RehearsedShell(cluster.user)
    try:
        before = _undisturbed(shell, job, teller)
        return tuple(_under_fault(cluster, shell, job, fault, before, teller) for fault in faults)
    except WorkFailed as failure:  # for example, sbatch rejects the job
        raise FaultFailed(f"{job.folder.script}: {failure}") from failure


def _undisturbed(shell: RehearsedShell, job: DrilledJob, teller: Teller) -> JobRun:
    run = _submitted(shell, job, teller)
    follow([run], "the undisturbed run")
    if run.state != COMPLETED:
        raise FaultFailed(
            f"job {run.id} ended as {run.state} without any fault; its log:\n{run.log[-2000:]}"
        )
    _set_aside(shell, job, "undisturbed")
    return run


def _under_fault(
    cluster: FaultCluster,
    shell: RehearsedShell,
    job: DrilledJob,
    fault: Fault,
    undisturbed: JobRun,
    teller: Teller,
) -> DrillReport:
    run = _submitted(shell, job, teller)
    what = f"{fault.name} strikes halfway through"
    follow([run], what, until=lambda: _is_half_way(run, undisturbed))
    watch = patient_watch(cluster, teller)
    report = strike(cluster, fault, [run], watch, undisturbed)[0]
    _set_aside(shell, job, fault.name)
    cluster.require_whole(watch)
    return report


def strike(
    cluster: FaultCluster,
    fault: Fault,
    runs: Sequence[JobRun],
    watch: Watch,
    undisturbed: JobRun | PrintedLosses | None = None,
) -> tuple[DrillReport, ...]:
    """Strike running jobs, mainly the first, with a fault and follow them until they end."""
    assert fault.strike is not None  # noqa: S101  # commands offer no other one
    nodes = cluster.nodes_of(runs[0].id)
    if not nodes:
        raise FaultFailed(f"job {runs[0].id} ended as {runs[0].state} before {fault.name} struck")
    with as_fault_failed(fault):
        fault.strike(cluster, watch, nodes)
    follow(runs, f"after {fault.name}", patience_seconds=_patience(cluster, undisturbed))
    return tuple(_report(fault, run, watch, undisturbed) for run in runs)


def _patience(cluster: FaultCluster, undisturbed: JobRun | PrintedLosses | None) -> float | None:
    """Return the time limit for a job, or None if its undisturbed duration is unknown."""
    if not isinstance(undisturbed, JobRun):
        return None
    return PATIENCE_SECONDS + 3 * undisturbed.seconds + 2 * cluster.slurmd_timeout()


def _submitted(shell: RehearsedShell, job: DrilledJob, teller: Teller) -> JobRun:
    copy_job(shell, job.folder)
    variables = {"PYTHON": job.python} if job.python else {}
    return JobRun(shell, submit(shell, job.folder, job.arguments, variables), teller)


def _set_aside(shell: RehearsedShell, job: DrilledJob, what: str) -> None:
    """Rename the folder of a run, so that the next run starts from scratch."""
    place = job.folder.place
    shell.run(f"mv {shlex.quote(place)} {shlex.quote(f'{place}.{what}')}")


def _is_half_way(run: JobRun, undisturbed: JobRun) -> bool:
    """Return whether a job has done half of its work, by its steps or else by time."""
    steps = undisturbed.losses.last_step
    if steps:
        return run.losses.last_step >= steps / 2
    return run.seconds >= undisturbed.seconds / 2


def _report(
    fault: Fault,
    run: JobRun,
    watch: Watch,
    undisturbed: JobRun | PrintedLosses | None,
) -> DrillReport:
    losses = run.losses
    before = undisturbed.losses if isinstance(undisturbed, JobRun) else undisturbed
    return DrillReport(
        fault=fault.name,
        job=run.id,
        state=run.state,
        seconds=round(run.seconds, 1),
        undisturbed_seconds=(
            round(undisturbed.seconds, 1) if isinstance(undisturbed, JobRun) else None
        ),
        ended_seconds=round(run.ended_at - watch.injected_at, 1),
        restarts=run.restarts,
        step_restarts=step_restarts(run.log),
        steps=losses.last_step,
        steps_again=losses.steps_again,
        resumed_after=losses.resumed_after,
        contradictory=losses.contradictory,
        differing=losses.differing_from(before) if before and before.lines else None,
        moments=watch.moments,
    )
