"""`slurmpod job submit|status|logs|cancel`: a job on the cluster, from its folder to its end."""

from __future__ import annotations

import argparse
import gc
import shlex
import sys
import time
from dataclasses import asdict
from functools import partial

from slurmpod.aws.clients import clients_of
from slurmpod.aws.cluster import ClusterView
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.cli.batch_script import problems_of
from slurmpod.cli.connect import has_plugin
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.job_copy import bucket_for, copied
from slurmpod.cli.job_variables import variables_for
from slurmpod.cli.output import if_interrupted, print_json, say, say_next
from slurmpod.environment.image import IMAGE_USER
from slurmpod.jobs.allocation import JobRefused
from slurmpod.operations.cluster_jobs import (
    Sight,
    WholeArray,
    cancel,
    look,
    news,
    queue,
    submit,
)
from slurmpod.operations.connect import usual_group
from slurmpod.operations.copying.copier import Copier
from slurmpod.operations.job_folder import JobFolder, read_job_folder
from slurmpod.operations.node_shell import LastingShell, NoAnswer, NodeShell, first_node
from slurmpod.problem_text import problems_text
from slurmpod.problems import ExitCode, WorkFailed, has_errors
from slurmpod.resolve import Resolved

PAUSE_SECONDS = 5.0


def run(options: argparse.Namespace) -> ExitCode:
    """Run the chosen action."""
    gc.enable()  # following a job may take days
    code: ExitCode = ACTIONS[options.action](options)
    return code


def _submit(options: argparse.Namespace) -> ExitCode:
    """Check the job, copy it, submit it and follow it."""
    job = read_job_folder(options.folder)
    return submit_job(options, sound_environment(options.file).resolved, job)


def submit_job(
    options: argparse.Namespace,
    resolved: Resolved,
    job: JobFolder,
    shell: NodeShell | None = None,
) -> ExitCode:
    """Copy a checked job, submit it, and follow it to its end unless the options say otherwise."""
    if not _is_sound(job, resolved):
        return ExitCode.INVALID
    try:
        variables = variables_for(options, job, resolved)
    except JobRefused as refused:
        say(f"{refused.message}\n  fix: {refused.fix}")
        return ExitCode.USAGE
    if not (shell := shell or shell_for(options, resolved)):
        return ExitCode.FAILED
    with if_interrupted("nothing was submitted; the same command resumes"):
        if not copied(Copier(shell, job, bucket_for(resolved), say), options):
            return ExitCode.FAILED
    status = f"slurmpod job status {shlex.quote(str(options.file))}"
    with if_interrupted(f"the job may have been submitted; see: {status}"):
        number = submit(shell, job, options.after_dashes or (), variables)
    say(f"submitted job {number}")
    if options.json:
        commit = asdict(job.commit) if job.commit else None
        print_json({"job": number, "folder": job.place, "commit": commit})
    if options.no_follow or options.json:
        _say_way_back(options, number)
        return ExitCode.OK
    return _follow_submitted(options, shell, number)


def _follow_submitted(options: argparse.Namespace, shell: NodeShell, number: str) -> ExitCode:
    """Follow a job, or print how to follow a task of an array."""
    try:
        return _follow(options, shell, number)
    except WholeArray as array:
        say(str(array))
        _say_way_back(options, array.task)
        return ExitCode.FAILED


def _is_sound(job: JobFolder, resolved: Resolved) -> bool:
    problems = problems_of(job.script, job.text(job.script) or "", resolved, job.text)
    if problems:
        say(problems_text(problems, sys.stderr))
    return not has_errors(problems)


def _status(options: argparse.Namespace) -> ExitCode:
    if not (shell := shell_for(options)):
        return ExitCode.FAILED
    jobs = queue(shell, options.job)
    if options.json:
        print_json(jobs)
        return ExitCode.OK
    if not jobs:
        say("no jobs")
    for job in jobs:
        place = job["nodes"] or f"({job['reason']})"
        line = f"{job['id']:>10}  {job['name']:<20}  {job['user']:<12}  {job['state']:<11}"
        sys.stdout.write(f"{line}  {job['time']:>11}  {place}\n")
    return ExitCode.OK


def _logs(options: argparse.Namespace) -> ExitCode:
    if not (shell := shell_for(options)):
        return ExitCode.FAILED
    try:
        return _tell_log(options, shell)
    except WholeArray as array:
        say(str(array))
        return ExitCode.USAGE


def _tell_log(options: argparse.Namespace, shell: NodeShell) -> ExitCode:
    if options.follow:
        return _follow(options, shell, options.job)
    if options.json:
        print_json(_written(shell, options.job))
        return ExitCode.OK
    seen = _tell(None, look(shell, options.job))
    while not seen.is_read:
        seen = _tell(seen, look(shell, options.job, seen))
    return ExitCode.OK


def _written(shell: NodeShell, job: str) -> dict[str, str]:
    """Return the state of a job, and its whole log so far."""
    seen = look(shell, job)
    log = seen.log
    while not seen.is_read:
        seen = look(shell, job, seen)
        log += seen.log
    facts = {"job": job, "state": seen.state, "nodes": seen.nodes, "file": seen.file}
    return {**facts, "log": log.decode(errors="replace")}


def _cancel(options: argparse.Namespace) -> ExitCode:
    if not (shell := shell_for(options)):
        return ExitCode.FAILED
    with if_interrupted("the job may be cancelled; the same command cancels it again"):
        cancel(shell, options.job)
    say(f"cancelling job {options.job}")
    if options.json:
        print_json({"job": options.job})
    say_next("job status", options.file)
    return ExitCode.OK


def shell_for(options: argparse.Namespace, resolved: Resolved | None = None) -> NodeShell | None:
    """Return where to run commands; None if this machine cannot open sessions."""
    if not has_plugin():
        return None
    resolved = resolved or sound_environment(options.file).resolved
    return LastingShell(partial(_usual_node, resolved, options.user))


def _usual_node(resolved: Resolved, user: str) -> NodeShell:
    """Return the first login node or controller, with refreshed credentials."""
    nodes = ClusterView(clients_of(resolved.region))
    return first_node(nodes, resolved, usual_group(resolved), user)


def _follow(options: argparse.Namespace, shell: NodeShell, job: str) -> ExitCode:
    """Print events until the job ends; Ctrl-C only stops the printing. Raises WholeArray."""
    seen: Sight | None = None
    try:
        while seen is None or not (seen.has_ended and seen.is_read):
            seen = _look_again(shell, job, seen)
    except WholeArray:
        raise
    except (KeyboardInterrupt, WorkFailed) as end:
        say(str(end) or f"job {job} continues")
        _say_way_back(options, job)
        return ExitCode.INTERRUPTED if isinstance(end, KeyboardInterrupt) else ExitCode.FAILED
    return ExitCode.OK if seen.state == "COMPLETED" else ExitCode.FAILED


def _look_again(shell: NodeShell, job: str, seen: Sight | None) -> Sight:
    """Look again after a while; reconnect if the connection was lost."""
    if seen and seen.is_read:
        time.sleep(PAUSE_SECONDS)
    while True:
        try:
            return _tell(seen, look(shell, job, seen))
        except (NoAnswer, AwsUnavailable) as lost:
            say(f"{lost}; job {job} continues; reconnecting")
            time.sleep(PAUSE_SECONDS)


def _tell(before: Sight | None, now: Sight) -> Sight:
    """Print what is new: the log to stdout, the rest to stderr."""
    sys.stdout.write(now.log.decode(errors="replace"))
    sys.stdout.flush()
    for line in news(before, now):
        say(f"[job {now.job}: {line}]")
    return now


def _say_way_back(options: argparse.Namespace, job: str) -> None:
    user = "" if options.user == IMAGE_USER else f" --user {shlex.quote(options.user)}"
    say(f"to follow again: slurmpod job logs {shlex.quote(str(options.file))} {job} --follow{user}")


ACTIONS = {"submit": _submit, "status": _status, "logs": _logs, "cancel": _cancel}
