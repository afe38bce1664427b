"""`slurmpod node`: changes to single nodes that respect running jobs."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path

from slurmpod.cli.confirmation import is_confirmed
from slurmpod.cli.connect import has_group, has_plugin
from slurmpod.cli.live_cluster import LiveCluster, live_cluster
from slurmpod.cli.node_changes import (
    DONE_BY,
    add_confirmation,
    add_requeue,
    at_least,
    print_ends,
    say_plan,
    work_on,
)
from slurmpod.cli.node_check import add_check, check
from slurmpod.cli.output import if_interrupted, say, say_next
from slurmpod.cli.scale import keep_file, scale
from slurmpod.operations.node_plan import FREES, Action, chosen, plan_action
from slurmpod.operations.node_work import NodeWork, Outcome
from slurmpod.problems import ExitCode

FILE_BEHIND = "nodes are deleted, and the file may still count them: continue with slurmpod scale"
OF_NODES = (Action.DRAIN, Action.RESUME, Action.REBOOT, Action.REPLACE, Action.DELETE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for action in OF_NODES:
        summary = DONE_BY[action]
        one = actions.add_parser(action.value, help=summary)
        _add_file(one)
        one.add_argument("nodes", nargs="+", metavar="NODE", help="host name or instance id")
        add_confirmation(one)
        if action in FREES:
            add_requeue(one)
    add_check(actions.add_parser("check", help="show the state of nodes, or start health checks"))
    add = actions.add_parser("add", help="add nodes to a group")
    _add_file(add)
    add.add_argument("group", help="the instance group")
    add.add_argument("count", nargs="?", type=at_least(1), default=1, help="how many (default: 1)")
    add_confirmation(add)


def _add_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")


def run(options: argparse.Namespace) -> ExitCode:
    """Show the plan, ask, carry it out, and report the outcome for each node."""
    if options.action == "add":
        return _add(options)
    if not has_plugin():
        return ExitCode.FAILED
    if options.action == Action.CHECK:
        return check(options)
    cluster = live_cluster(options.file)
    action = Action(options.action)
    nodes = chosen(cluster.nodes, options.nodes)
    slurm = cluster.slurm()
    view = slurm.look([node.name for node in nodes])
    plan = plan_action(action, nodes, view, cluster.resolved)
    say_plan(plan, requeue=getattr(options, "requeue", False))
    if not is_confirmed(cluster.resolved.environment, options, f"{action} them"):
        say("nothing was changed")
        return ExitCode.FAILED
    work = NodeWork(cluster.live, slurm, say)
    ends = work_on(work, plan, requeue=getattr(options, "requeue", False))
    code = print_ends(ends, as_json=options.json)
    if action is Action.DELETE:
        with if_interrupted(FILE_BEHIND):
            _keep_files(cluster, ends)
    _say_next(options, work.held)
    return code


def _add(options: argparse.Namespace) -> ExitCode:
    cluster = live_cluster(options.file)
    if not has_group(cluster.resolved, options.group):
        return ExitCode.USAGE
    target = cluster.live.group(options.group)["TargetCount"]
    return scale(cluster, options, target + options.count)


def _keep_files(cluster: LiveCluster, ends: Sequence[Outcome]) -> None:
    """Update the file's count of each group that has shrunk."""
    for group in dict.fromkeys(end.group for end in ends if end.succeeded):
        keep_file(cluster, group, cluster.live.group(group)["TargetCount"])


def _say_next(options: argparse.Namespace, held: Sequence[str]) -> None:
    """Suggest the next command; nodes that Slurm still holds take no jobs."""
    drained = options.nodes if options.action == Action.DRAIN else held
    if drained and options.action != Action.DELETE:
        say(f"next: slurmpod node resume {shlex.join([str(options.file), *drained])}")
        return
    say_next("lifecycle report", options.file)
