"""`slurmpod rehearsal fault`: inject one fault into a kept rehearsal and its running jobs."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from rich.console import Console

from embedded_aws.isolation import isolated_environment, process_environment
from slurmpod.aws.cluster import ClusterView
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import print_json, say
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.operations.progress import Progress
from slurmpod.problems import ExitCode, WorkFailed
from slurmpod.rehearsal.drills.drill import DrillReport, strike
from slurmpod.rehearsal.drills.job_run import JobRun, RehearsedShell
from slurmpod.rehearsal.drills.losses import PrintedLosses, printed_losses
from slurmpod.rehearsal.embedded_clients import embedded_clients
from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.fault import Fault, FaultReport, patient_watch, run_fault
from slurmpod.rehearsal.faults.registry import (
    FAULTS,
    STRIKES_TEXT,
    unmet_needs,
)
from slurmpod.rehearsal.faults.watch import FaultFailed
from slurmpod.rehearsal.faults_report import drill_data, print_drills, print_faults
from slurmpod.rehearsal.processes import Rehearsal
from slurmpod.rehearsal.rehearse import fault_cluster_of
from slurmpod.rehearsal.shell import CommandFailed
from slurmpod.rehearsal.state import note_fault


def run(rehearsal: Rehearsal, options: argparse.Namespace) -> ExitCode:
    """Inject the fault, and report its effect on running jobs, or on an idle cluster."""
    fault = next((each for each in FAULTS if each.name == options.fault), None)
    if fault is None:
        names = [each.name for each in FAULTS]
        guess = did_you_mean(options.fault, names) or f"faults: {', '.join(names)}"
        say(f"unknown fault '{options.fault}'; {guess}")
        return ExitCode.USAGE
    resolved = sound_environment(Path(rehearsal.request.environment_file)).resolved
    reasons = unmet_needs(resolved, [fault])
    if rehearsal.request.cloud_only:
        reasons = ("this rehearsal has no nodes", *reasons)
    for reason in reasons:
        say(f"{fault.name}: {reason}")
    if reasons:
        return ExitCode.USAGE
    with process_environment(isolated_environment(os.environ, rehearsal.variables)):
        clients = embedded_clients(rehearsal.state.endpoint, rehearsal.request)
        nodes = ClusterView(clients).nodes(rehearsal.request.name)
        cluster = fault_cluster_of(rehearsal, resolved, nodes)
        return _do(rehearsal.folder, cluster, fault, options)


def _do(folder: Path, cluster: FaultCluster, fault: Fault, options: argparse.Namespace) -> ExitCode:
    progress = Progress()
    jobs = cluster.user.run(["squeue", "--noheader", "--states=RUNNING", "--format=%A"]).split()
    if jobs and not fault.strike:
        say(f"{fault.name} needs an idle cluster, but jobs run: {', '.join(jobs)}; {STRIKES_TEXT}")
        return ExitCode.USAGE
    try:
        if jobs:
            reports = _strike(cluster, fault, sorted(jobs, key=int), options.undisturbed, progress)
            return _tell_drills(reports, as_json=options.json)
        with progress.stage(f"survived the fault {fault.name}"):
            report = run_fault(fault, cluster, progress)
        note_fault(folder, report.as_data())
    except FaultFailed as failure:
        raise WorkFailed(str(failure)) from failure
    return _tell_fault(report, as_json=options.json)


def _strike(
    cluster: FaultCluster, fault: Fault, jobs: list[str], log: str | None, progress: Progress
) -> tuple[DrillReport, ...]:
    """Inject the fault into all running jobs; the job with the most nodes is the target."""
    shell = RehearsedShell(cluster.user)
    undisturbed = _losses_in(shell, log) if log else None
    jobs.sort(key=lambda job: -len(cluster.nodes_of(job)))
    runs = [JobRun(shell, job, progress) for job in jobs]
    with progress.stage(f"injected {fault.name}; job {', '.join(jobs)} ended"):
        for each in runs:
            each.look()
        return strike(cluster, fault, runs, patient_watch(cluster, progress), undisturbed)


def _losses_in(shell: RehearsedShell, log: str) -> PrintedLosses:
    try:
        text = shell.shell.run(["cat", log])
    except CommandFailed as failure:
        raise WorkFailed(f"--undisturbed: {failure}") from failure
    losses = printed_losses(text)
    if not losses.lines:
        raise WorkFailed(f"--undisturbed: {log} has no lines with a step and a loss")
    return losses


def _tell_drills(reports: tuple[DrillReport, ...], *, as_json: bool) -> ExitCode:
    if as_json:
        print_json([drill_data(report) for report in reports])
    else:
        print_drills(Console(highlight=False), reports)
    return ExitCode.OK if all(report.is_sound for report in reports) else ExitCode.FAILED


def _tell_fault(report: FaultReport, *, as_json: bool) -> ExitCode:
    if as_json:
        print_json([report.as_data()])
    else:
        print_faults(Console(highlight=False), [report])
    return ExitCode.FAILED if report.lost else ExitCode.OK
