"""`slurmpod lifecycle`: how the scripts went on the nodes of a cluster, and running them again."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path

from slurmpod.aws.account import AwsAccount
from slurmpod.aws.clients import clients_of
from slurmpod.aws.deployment import ClusterLogs, Deployment, SessionNodes
from slurmpod.bundle import render_bundle
from slurmpod.cli.confirmation import is_confirmed
from slurmpod.cli.connect import has_group, has_plugin
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.lifecycle_text import print_reports
from slurmpod.cli.output import counted, print_json, say
from slurmpod.operations.connect import NodeSessions
from slurmpod.operations.deployed import require_account
from slurmpod.operations.lifecycle import NodeReport, RunPlan, lifecycle_reports, plan_run, run_plan
from slurmpod.problems import ExitCode
from slurmpod.resolve import Resolved


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    reports = actions.add_parser("report", help="show how the scripts went on every node")
    reports.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    reports.add_argument("--json", action="store_true", help="print the reports as JSON")
    reports.set_defaults(act=_report)
    runs = actions.add_parser("run", help="run the deployed scripts again on live nodes")
    _add_run_arguments(runs)
    runs.set_defaults(act=_run)


def run(options: argparse.Namespace) -> ExitCode:
    """Do what the chosen action does."""
    code: ExitCode = options.act(options)
    return code


def _report(options: argparse.Namespace) -> ExitCode:
    """Show the last report of every node; what failed is for the reader to judge."""
    resolved = sound_environment(options.file).resolved
    clients = clients_of(resolved.region)
    reports = lifecycle_reports(SessionNodes(clients), ClusterLogs(clients), resolved.name)
    if options.json:
        print_json([dataclasses.asdict(report) for report in reports])
    else:
        print_reports(reports, {group.name: group.role for group in resolved.groups})
    return ExitCode.OK


def _add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument("--group", required=True, help="instance group whose nodes are meant")
    parser.add_argument("--node", help="only this one: its name in Slurm, or its instance id")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be changed")
    parser.add_argument("--yes", action="store_true", help="do it without asking")
    parser.add_argument("--json", action="store_true", help="print the reports as JSON")


def _run(options: argparse.Namespace) -> ExitCode:
    """Show what would run where, ask, and run it."""
    resolved = sound_environment(options.file).resolved
    if not has_group(resolved, options.group):
        return ExitCode.USAGE
    if not has_plugin():
        return ExitCode.FAILED
    plan = _plan(resolved, options)
    _say_plan(plan, resolved)
    if not options.dry_run and not is_confirmed(resolved.environment, options, "run them"):
        say("nothing was run")
        return ExitCode.FAILED
    reports = run_plan(plan, _tell, NodeSessions())
    if options.json:
        print_json([dataclasses.asdict(report) for report in reports])
    else:
        print_reports(reports, {group.name: group.role for group in resolved.groups})
    return ExitCode.OK if all(report.succeeded for report in reports) else ExitCode.FAILED


def _plan(resolved: Resolved, options: argparse.Namespace) -> RunPlan:
    clients = clients_of(resolved.region)
    require_account(AwsAccount(clients), resolved.environment)
    return plan_run(
        Deployment(clients),
        SessionNodes(clients),
        resolved,
        options.group,
        options.node,
        dry_run=options.dry_run,
    )


def _say_plan(plan: RunPlan, resolved: Resolved) -> None:
    what = "a dry run of the scripts" if plan.dry_run else "the scripts"
    say(f"{what} at {plan.bundle_uri} on {counted(len(plan.nodes), 'node')}:")
    for node in plan.nodes:
        say(f"  {node.hostname}  {node.group}  {node.instance_id}")
    bundle = render_bundle(resolved)
    if bundle and not plan.bundle_uri.rstrip("/").endswith(bundle.prefix):
        say("the file has changed since the group was deployed; its scripts differ from these")


def _tell(report: NodeReport) -> None:
    sys.stderr.write(f"{report.name}: {report.summary}\n")
