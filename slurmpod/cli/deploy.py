"""`slurmpod deploy`: apply the file to the stacks, the nodes and Slurm."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slurmpod.aws.clients import clients_of
from slurmpod.aws.cluster import Node
from slurmpod.cli.changes_text import changes_text
from slurmpod.cli.confirmation import is_confirmed
from slurmpod.cli.connect import has_plugin
from slurmpod.cli.diff import facts, say_about_cluster
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.lifecycle import print_reports
from slurmpod.cli.output import print_json, say, say_next
from slurmpod.cli.plan_text import plan_text
from slurmpod.cli.preflight import asked
from slurmpod.cli.stacks import stack_named, way_back
from slurmpod.operations.attempt import plain
from slurmpod.operations.deploy.cdk import CDK_IS_MISSING, cdk_script
from slurmpod.operations.deploy.deployment import Deployment, Done
from slurmpod.operations.deploy.stack_work import StackWork
from slurmpod.operations.deploy.work_folder import work_folder
from slurmpod.operations.migration.moves import moves_in
from slurmpod.permissions.rights import rights_of_users
from slurmpod.plan.amounts import per_month
from slurmpod.plan.plan import plan_of
from slurmpod.plan.prices import bundled_prices
from slurmpod.preflight.answers import UNANSWERED
from slurmpod.preflight.check import check
from slurmpod.problem_text import problems_text
from slurmpod.problems import ExitCode, counted, has_errors
from slurmpod.rules.check import Sound


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument("--only", metavar="STACK", help="deploy this stack alone, e.g. storage")
    parser.add_argument(
        "--no-nodes", action="store_true", help="do not run scripts on nodes, or a test job"
    )
    parser.add_argument("--dry-run", action="store_true", help="only show the plan")
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """Show the changes, ask, deploy, run scripts on nodes that need it, and run a test job."""
    wanted = sound_environment(options.file)
    only = stack_named(wanted.resolved, options.only) if options.only else ""
    if only is None:
        return ExitCode.USAGE
    clients = clients_of(wanted.resolved.region)
    with work_folder(wanted.resolved) as folder:
        if is_stopped_by_the_account(wanted):
            say("nothing was deployed")
            return ExitCode.FAILED
        stacks = StackWork.of(options.file, wanted.resolved, folder, clients)
        return _deploy(wanted, Deployment(stacks, only, leaves_nodes=options.no_nodes), options)


def _deploy(wanted: Sound, deployment: Deployment, options: argparse.Namespace) -> ExitCode:
    if not options.json:
        _show(wanted, deployment, options)
    if deployment.difference.is_refused_by_aws:
        say(
            "AWS rejects the changes marked 'refused', or is not known to accept them: "
            "nothing was deployed"
        )
        return ExitCode.FAILED
    if options.dry_run:
        return _end(deployment, Done(), options)
    if not is_prepared(options):
        return ExitCode.UNPREPARED
    if not is_confirmed(wanted.environment, options, "deploy this"):
        say("nothing was deployed")
        return ExitCode.FAILED
    with way_back(deployment.stacks, _again(options)):
        done = deployment.carry_out()
    return _end(deployment, done, options)


def _show(wanted: Sound, deployment: Deployment, options: argparse.Namespace) -> None:
    """Print the changes, the new cost, and the nodes on which scripts will run."""
    resolved, difference = wanted.resolved, deployment.difference
    plan = plan_of(resolved, bundled_prices(resolved.region))
    deployed = difference.deployed
    if deployed is None:
        sys.stdout.write(plan_text(plan, rights_of_users(resolved)))
    elif deployed.record is not None:
        text = changes_text(difference.changes, resolved.name, wanted.source)
        sys.stdout.write(f"{text}cost after the deployment: {per_month(plan.total)}\n")
        for move in moves_in(difference.changes):
            sys.stdout.write(f"{move.path}: slurmpod migrate makes and verifies this change\n")
    say_about_cluster(difference, options.file)
    if deployment.only:
        sys.stdout.write(f"only the stack {deployment.only} is deployed\n")
    if stale := deployment.stale:
        how = "keep older scripts" if options.no_nodes else "run the new scripts"
        sys.stdout.write(f"{counted(len(stale), 'node')} will {how}: {_groups(stale)}\n")
    sys.stdout.flush()


def _end(deployment: Deployment, done: Done, options: argparse.Namespace) -> ExitCode:
    """Print the outcome and suggest the next command."""
    if options.json:
        print_json({**_data(deployment), **dataclasses.asdict(done)})
    elif done.reports:
        roles = {group.name: group.role for group in deployment.resolved.groups}
        print_reports(done.reports, roles)
    if done.scripts_failed:
        say("scripts failed on some nodes; later groups were skipped")
    if done.job:
        say(done.job.detail if done.job.succeeded else f"no job ran: {done.job.detail}")
    for group in done.late:
        say(group.text)
    if done.late:
        say("HyperPod keeps requesting these nodes; you do not need to deploy again")
    if done.scripts_failed or (done.job and not done.job.succeeded):
        is_late = done.late and not done.scripts_failed
        say_next("status" if is_late else "lifecycle report", options.file)
        return ExitCode.FAILED
    _say_next(deployment, done, options)
    return ExitCode.OK


def _data(deployment: Deployment) -> dict[str, Any]:
    stacks = deployment.resolved.stacks.in_order()
    return {
        "name": deployment.resolved.name,
        **facts(deployment.difference),
        "stacks": [deployment.only] if deployment.only else [*stacks],
        "nodes": [plain(node) for node in deployment.stale],
    }


def _say_next(deployment: Deployment, done: Done, options: argparse.Namespace) -> None:
    if not done.is_deployed:
        say(f"next: {_again(options)}")
    elif not deployment.is_of_cluster:
        say_next("diff", options.file)
    elif deployment.stale and not done.reports:
        say_next("lifecycle run", options.file)
    elif done.late:
        say_next("status", options.file)
    else:
        say_next("connect", options.file)


def is_stopped_by_the_account(wanted: Sound) -> bool:
    """Run the preflight, print its findings, and return whether one of them is an error.

    Denied permissions do not stop the deployment: the CDK deploys with its own roles.
    """
    problems = check(wanted, asked(wanted))
    if problems:
        say(problems_text(problems, sys.stderr) + "\n")
    return has_errors(each for each in problems if each.rule != UNANSWERED)


def is_prepared(options: argparse.Namespace) -> bool:
    """Return whether this machine has what the command needs; print what is missing."""
    if cdk_script() is None:
        say(CDK_IS_MISSING)
        return False
    if options.no_nodes or has_plugin():
        return True
    say("or skip the nodes: slurmpod deploy --no-nodes")
    return False


def _groups(nodes: Sequence[Node]) -> str:
    groups = dict.fromkeys(node.group for node in nodes)
    counts = {group: sum(node.group == group for node in nodes) for group in groups}
    return ", ".join(f"{count} of {group}" for group, count in counts.items())


def _again(options: argparse.Namespace) -> str:
    given = [f"--only {shlex.quote(options.only)}"] if options.only else []
    given += ["--no-nodes"] if options.no_nodes else []
    return " ".join(["slurmpod deploy", shlex.quote(str(options.file)), *given])
