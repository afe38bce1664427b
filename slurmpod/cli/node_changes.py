"""What commands that change nodes have in common: options, the plan as text, and how it ended."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Callable, Sequence

from slurmpod.cli.output import counted, if_interrupted, print_json, say
from slurmpod.operations.node_plan import COMES_BACK, FREES, Action, NodePlan
from slurmpod.operations.node_work import NodeWork, Outcome
from slurmpod.problems import ExitCode, first_of

DONE_BY = {
    Action.DRAIN: "let no new job start there, and wait for those that run",
    Action.RESUME: "let jobs start there again",
    Action.REBOOT: "reboot, and take jobs again",
    Action.REPLACE: "put new instances in their places, with empty disks",
    Action.DELETE: "delete nodes, whose groups are smaller from then on",
    Action.CHECK: "let HyperPod check their hardware, which takes an hour or more",
    Action.PATCH: "let jobs leave before the software is updated",
}
NAMES_SHOWN = 5


def add_confirmation(parser: argparse.ArgumentParser) -> None:
    """Declare how a change is confirmed, and how its end is told."""
    parser.add_argument("--yes", action="store_true", help="do it without asking")
    parser.add_argument("--json", action="store_true", help="print how it ended as JSON")


def at_least(least: int) -> Callable[[str], int]:
    """Return what reads a number of nodes from the command line."""

    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(
                f"{text} is not a number of nodes: write {least} or more"
            )
        return int(text)

    return number


def add_requeue(parser: argparse.ArgumentParser) -> None:
    """Declare what becomes of jobs."""
    parser.add_argument(
        "--requeue", action="store_true", help="put jobs back into the queue, do not wait for them"
    )


def say_plan(plan: NodePlan, *, requeue: bool) -> None:
    """Show the nodes as HyperPod and Slurm know them, and the jobs that run there."""
    say(f"{plan.action} {counted(len(plan.nodes), 'node')}: {DONE_BY[plan.action]}")
    for node in plan.nodes:
        slurm = node.slurm.shown if node.slurm else "not in Slurm"
        reason = f" ({node.slurm.reason})" if node.slurm and node.slurm.reason else ""
        done = "; done before, only Slurm has to take it back" if node.is_done else ""
        live = node.live
        say(
            f"  {node.name}  {live.group}  {live.instance_id}  {live.status}  {slurm}{reason}{done}"
        )
    say_jobs(plan, requeue=requeue)
    if plan.action in COMES_BACK and any(node.slurm is None for node in plan.nodes):
        say("sessions on nodes that Slurm does not know end without a warning")


def say_jobs(plan: NodePlan, *, requeue: bool) -> None:
    """Show which jobs run on the nodes, and what becomes of them."""
    if plan.action not in FREES:
        return
    if not plan.jobs:
        say("no job runs there")
        return
    becomes = "is put back into the queue" if requeue else "is waited for; --requeue puts it back"
    say(f"{counted(len(plan.jobs), 'job')} there, each {becomes}:")
    for job in plan.jobs:
        say(f"  {job.id}  {job.user}  {job.name}  {job.elapsed}  {job.nodes}")


def work_on(work: NodeWork, plan: NodePlan, *, requeue: bool) -> tuple[Outcome, ...]:
    """Do the work; when it is interrupted, say in what state the nodes are."""
    hint = "the same command goes on from here"
    if plan.action in FREES:
        names = first_of(plan.named(in_slurm=True), NAMES_SHOWN)
        hint = f"{names} may be drained in Slurm; {hint}, `slurmpod node resume` gives them back"
    with if_interrupted(hint):
        return work.run(plan, requeue=requeue)


def print_ends(ends: Sequence[Outcome], *, as_json: bool) -> ExitCode:
    """Print how it ended for each node; return the exit code."""
    if as_json:
        print_json([dataclasses.asdict(end) for end in ends])
    else:
        for end in ends:
            word = "ok" if end.succeeded else "FAILED"
            sys.stdout.write(f"{word}  {end.name}  {end.group}  {end.detail}\n")
    return ExitCode.OK if all(end.succeeded for end in ends) else ExitCode.FAILED
