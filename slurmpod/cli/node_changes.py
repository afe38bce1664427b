"""Shared by commands that change nodes: options, the plan as text, and the outcome."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Callable, Sequence

from slurmpod.cli.output import if_interrupted, print_json, say
from slurmpod.operations.node_plan import COMES_BACK, FREES, Action, NodePlan
from slurmpod.operations.node_work import NodeWork, Outcome
from slurmpod.problems import ExitCode, counted, first_of

DONE_BY = {
    Action.DRAIN: "start no new jobs, and wait for running ones",
    Action.RESUME: "let jobs start again",
    Action.REBOOT: "reboot, then take jobs again",
    Action.REPLACE: "replace them with new instances, with empty disks",
    Action.DELETE: "delete them and shrink their groups",
    Action.CHECK: "run HyperPod's hardware checks, which take an hour or more",
    Action.PATCH: "wait for jobs before the software update",
}
NAMES_SHOWN = 5


def add_confirmation(parser: argparse.ArgumentParser) -> None:
    """Declare how a change is confirmed and its outcome printed."""
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def at_least(least: int) -> Callable[[str], int]:
    """Return a parser for a number of nodes on the command line."""

    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(
                f"{text} is not a number of nodes: write {least} or more"
            )
        return int(text)

    return number


def add_requeue(parser: argparse.ArgumentParser) -> None:
    """Declare what happens to jobs."""
    parser.add_argument(
        "--requeue", action="store_true", help="requeue jobs instead of waiting for them"
    )


def say_plan(plan: NodePlan, *, requeue: bool) -> None:
    """Show the nodes as HyperPod and Slurm know them, and their running jobs."""
    say(f"{plan.action} {counted(len(plan.nodes), 'node')}: {DONE_BY[plan.action]}")
    for node in plan.nodes:
        slurm = node.slurm.shown if node.slurm else "not in Slurm"
        reason = f" ({node.slurm.reason})" if node.slurm and node.slurm.reason else ""
        done = "; already done, only to be resumed in Slurm" if node.is_done else ""
        live = node.live
        say(
            f"  {node.name}  {live.group}  {live.instance_id}  {live.status}  {slurm}{reason}{done}"
        )
    say_jobs(plan, requeue=requeue)
    if plan.action in COMES_BACK and any(node.slurm is None for node in plan.nodes):
        say("sessions on nodes outside of Slurm end without warning")


def say_jobs(plan: NodePlan, *, requeue: bool) -> None:
    """Show the running jobs on the nodes, and what happens to them."""
    if plan.action not in FREES:
        return
    if not plan.jobs:
        say("no jobs are running there")
        return
    becomes = "is requeued" if requeue else "is waited for; --requeue requeues it"
    say(f"{counted(len(plan.jobs), 'job')} there, each {becomes}:")
    for job in plan.jobs:
        say(f"  {job.id}  {job.user}  {job.name}  {job.elapsed}  {job.nodes}")


def work_on(work: NodeWork, plan: NodePlan, *, requeue: bool) -> tuple[Outcome, ...]:
    """Do the work; after Ctrl-C, report the state of the nodes."""
    hint = "the same command resumes"
    if plan.action in FREES:
        names = first_of(plan.named(in_slurm=True), NAMES_SHOWN)
        hint = f"{names} may be drained in Slurm; {hint}, `slurmpod node resume` resumes them"
    with if_interrupted(hint):
        return work.run(plan, requeue=requeue)


def print_ends(ends: Sequence[Outcome], *, as_json: bool) -> ExitCode:
    """Print the outcome for each node; return the exit code."""
    if as_json:
        print_json([dataclasses.asdict(end) for end in ends])
    else:
        for end in ends:
            word = "ok" if end.succeeded else "FAILED"
            sys.stdout.write(f"{word}  {end.name}  {end.group}  {end.detail}\n")
    return ExitCode.OK if all(end.succeeded for end in ends) else ExitCode.FAILED
