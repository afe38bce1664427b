"""`slurmpod lifecycle`: reports of the lifecycle scripts on nodes, and running them again.

Reports show failures first, then times, then the slowest node. Nodes with the same result share
a line, so that a page holds a cluster of any size.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from slurmpod.aws.account import AwsAccount
from slurmpod.aws.clients import clients_of
from slurmpod.aws.cluster import ClusterView
from slurmpod.aws.cluster_logs import ClusterLogs
from slurmpod.bundle import render_bundle
from slurmpod.cli.confirmation import is_confirmed
from slurmpod.cli.connect import has_group, has_plugin
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import if_interrupted, print_json, say, say_next
from slurmpod.operations.connect import NodeSessions
from slurmpod.operations.deployed import require_account
from slurmpod.operations.drained_run import workers_of
from slurmpod.operations.lifecycle import (
    NodeReport,
    RunPlan,
    StepReport,
    lifecycle_reports,
    plan_run,
)
from slurmpod.operations.rollout import plan_rollout, run_rollout
from slurmpod.operations.step_table import Cell, step_table
from slurmpod.problems import ExitCode, counted, first_of
from slurmpod.resolve import Resolved


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    reports = actions.add_parser("report", help="show the reports of the scripts on every node")
    reports.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    reports.add_argument("--json", action="store_true", help="print the reports as JSON")
    reports.set_defaults(act=_report)
    runs = actions.add_parser("run", help="run the deployed scripts again on live nodes")
    _add_run_arguments(runs)
    runs.set_defaults(act=_run)


def run(options: argparse.Namespace) -> ExitCode:
    """Run the chosen action."""
    code: ExitCode = options.act(options)
    return code


def _report(options: argparse.Namespace) -> ExitCode:
    """Show the last report of every node; the exit code does not judge failures."""
    resolved = sound_environment(options.file).resolved
    clients = clients_of(resolved.region)
    reports = lifecycle_reports(ClusterView(clients), ClusterLogs(clients), resolved.name)
    if options.json:
        print_json([dataclasses.asdict(report) for report in reports])
    else:
        print_reports(reports, {group.name: group.role for group in resolved.groups})
    return ExitCode.OK


def _add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `run`."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument("--group", help="this group alone (default: all, controllers first)")
    parser.add_argument("--node", help="only this node: its Slurm name or instance id")
    parser.add_argument("--dry-run", action="store_true", help="only report what would change")
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    parser.add_argument("--json", action="store_true", help="print the reports as JSON")


def _run(options: argparse.Namespace) -> ExitCode:
    """Show what would run where, ask, and run it."""
    resolved = sound_environment(options.file).resolved
    if options.node and not options.group:
        say("--node requires --group")
        return ExitCode.USAGE
    if options.group and not has_group(resolved, options.group):
        return ExitCode.USAGE
    if not has_plugin():
        return ExitCode.FAILED
    plans = _plans(resolved, options)
    if not plans:
        say(f"{resolved.name} has no running node")
        return ExitCode.FAILED
    for plan in plans:
        _say_plan(plan, resolved)
    if not options.dry_run and not is_confirmed(resolved.environment, options, "run them"):
        say("nothing was run")
        return ExitCode.FAILED
    clients = clients_of(resolved.region)
    nodes, sessions = ClusterView(clients), NodeSessions(clients)
    workers = None if options.dry_run else workers_of(nodes, resolved, sessions, _tell, say)
    with if_interrupted(GOES_ON):
        reports = tuple(run_rollout(plans, _tell, sessions, workers))
    if options.json:
        print_json([dataclasses.asdict(report) for report in reports])
    else:
        print_reports(reports, {group.name: group.role for group in resolved.groups})
    code = _verdict(plans, reports)
    if not options.dry_run:
        say_next("status" if code is ExitCode.OK else "lifecycle report", options.file)
    return code


def _plans(resolved: Resolved, options: argparse.Namespace) -> tuple[RunPlan, ...]:
    clients = clients_of(resolved.region)
    require_account(AwsAccount(clients), resolved.environment)
    nodes = ClusterView(clients)
    if not options.group:
        return plan_rollout(nodes, resolved, dry_run=options.dry_run)
    chosen = (options.group, options.node)
    return (plan_run(nodes, resolved, *chosen, dry_run=options.dry_run),)


def _verdict(plans: Sequence[RunPlan], reports: Sequence[NodeReport]) -> ExitCode:
    begun = {report.group for report in reports}
    if left := [plan.nodes[0].group for plan in plans if plan.nodes[0].group not in begun]:
        say(f"not started after this failure: {', '.join(left)}")
    return ExitCode.OK if all(report.succeeded for report in reports) else ExitCode.FAILED


def _say_plan(plan: RunPlan, resolved: Resolved) -> None:
    what = "a dry run of the scripts" if plan.dry_run else "the scripts"
    say(f"{what} at {plan.bundle_uri} on {counted(len(plan.nodes), 'node')}:")
    for node in plan.nodes:
        say(f"  {node.name}  {node.group}  {node.instance_id}")
    bundle = render_bundle(resolved)
    if bundle and not plan.bundle_uri.rstrip("/").endswith(bundle.prefix):
        say("the file has changed since the group was deployed; its scripts differ from these")


def _tell(report: NodeReport) -> None:
    sys.stderr.write(f"{report.name}: {report.summary}\n")


NAMES_SHOWN = 3

GOES_ON = """\
the scripts stop on the nodes, which is safe; workers may be drained in Slurm:
the same command runs the scripts again, `slurmpod node resume` resumes workers"""


def print_reports(reports: Sequence[NodeReport], roles: Mapping[str, str]) -> None:
    """Print failures, the time of each step, and the slowest path; `roles` is by group."""
    console = Console(highlight=False, soft_wrap=False)
    for line in _news(reports):
        console.print(line, soft_wrap=True)
    with_steps = [report for report in reports if report.steps]
    if any(report.seconds for report in with_steps):  # not so after a dry run
        console.print(_table(with_steps, roles))
        console.print(Text(slowest(with_steps)), soft_wrap=True)
    silent = [report for report in reports if not report.steps]
    if silent:
        console.print(Text(f"no report from {_nodes(silent)}"), soft_wrap=True)


def _news(reports: Sequence[NodeReport]) -> Iterator[Text]:
    """Yield failed or pending steps with their nodes, once for each reason."""
    found: dict[StepReport, list[NodeReport]] = {}
    for report in reports:
        for step in report.steps:
            if step.state in ("failed", "would run"):
                found.setdefault(replace(step, seconds=0.0), []).append(report)
    for step, nodes in found.items():
        word, style = ("FAILED", "bold red") if step.required else ("without", "yellow")
        if step.state != "failed":
            word, style = step.state, "bold"
        fix = f"\n  fix: {step.fix}" if step.fix else ""
        yield Text.assemble((word, style), f" {step.name} on {_nodes(nodes)}: {step.detail}{fix}")


def _nodes(reports: Sequence[NodeReport]) -> str:
    return first_of([f"{report.name} ({report.group})" for report in reports], NAMES_SHOWN)


def _table(reports: Sequence[NodeReport], roles: Mapping[str, str]) -> Table:
    found = step_table(reports, roles)
    table = Table("STEP", box=None, pad_edge=False)
    for title in found.titles:
        table.add_column(title, justify="right")
    for name, cells in found.rows:
        table.add_row(name, *map(_cell, cells))
    table.add_row("all", *(cell.text for cell in found.totals), style="bold")
    return table


def _cell(cell: Cell) -> Text:
    if cell.failed:
        how_many = f" {cell.failed}/{cell.nodes}" if cell.nodes > 1 else ""
        return Text(f"failed{how_many} {cell.text}", style="red")
    return Text("not run", style="yellow") if cell.is_not_run else Text(cell.text)


def slowest(reports: Sequence[NodeReport]) -> str:
    """Print the slowest node, and the steps on its critical path."""
    node = max(reports, key=lambda report: report.seconds)
    took = {step.name: step.seconds for step in node.steps}
    path = " > ".join(f"{name} {took[name]:.1f}" for name in node.slowest_path)
    return f"slowest: {node.name} ({node.group}) in {node.seconds:.1f} s: {path}"
