"""`slurmpod node check`: the state of nodes, and HyperPod's deep health checks on demand."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from slurmpod.aws.cluster_operations import DEEP_CHECK, ClusterOperations
from slurmpod.cli.confirmation import is_confirmed
from slurmpod.cli.live_cluster import LiveCluster, live_cluster
from slurmpod.cli.node_changes import add_confirmation, add_requeue, print_ends, say_plan
from slurmpod.cli.output import if_interrupted, print_json, say
from slurmpod.operations.attempt import plain
from slurmpod.operations.idle_checks import CheckResult, history_command, read_history
from slurmpod.operations.node_check import (
    DeepCheck,
    nodes_of,
    plan_check,
    reports,
    wanted_checks,
)
from slurmpod.operations.node_work import NodeWork
from slurmpod.problems import ExitCode, counted

GOES_ON = (
    "HyperPod continues checks that have started; nodes that wait for jobs stay drained; the "
    "same command resumes"
)


def add_check(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the action."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument(
        "nodes", nargs="+", metavar="NODE|GROUP", help="host name, instance id, or whole group"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--history",
        action="store_true",
        help="show past results of idle checks",
    )
    how.add_argument(
        "--deep",
        action="store_true",
        help="run HyperPod's GPU and network tests; an hour or more without jobs",
    )
    add_confirmation(parser)
    add_requeue(parser)


def check(options: argparse.Namespace) -> ExitCode:
    """Show the state of nodes; with --deep show the plan, ask, check, and report each outcome."""
    cluster = live_cluster(options.file)
    operations = ClusterOperations(cluster.clients, cluster.resolved.name)
    if options.deep:
        return _check_deep(options, cluster, operations)
    nodes = nodes_of(cluster.nodes, options.nodes)
    if options.history:
        return _history(cluster, [node.name for node in nodes], as_json=options.json)
    view = cluster.slurm().look([node.name for node in nodes])
    ends = tuple(reports(nodes, view, operations.newest(Type=DEEP_CHECK)))
    code = print_ends(ends, as_json=options.json)
    if worst := next((end for end in ends if not end.succeeded), None):
        say(f"next: slurmpod why {shlex.quote(str(options.file))} {worst.name}")
    return code


def _history(cluster: LiveCluster, names: list[str], *, as_json: bool) -> ExitCode:
    found = read_history(cluster.slurm().answers(history_command(names)))
    if as_json:
        print_json(plain(found))
        return ExitCode.OK
    for name, results in found.items():
        say_history(name, results)
    return ExitCode.OK


def say_history(name: str, results: Sequence[CheckResult]) -> None:
    """Print a line for each check of a node, and how often it failed."""
    faults = sum(bool(each.faults) for each in results)
    sys.stdout.write(f"{name}: {counted(len(results), 'check')}, failed {faults} times\n")
    for each in results:
        numbers = ", ".join(f"{what} {number:g}" for what, number in each.numbers.items())
        words = [*(f"BAD: {fault}" for fault in each.faults), *each.told, numbers or "no numbers"]
        when = f"{each.at:%Y-%m-%d %H:%M} UTC"
        sys.stdout.write(f"  {when}  {each.instance}  {each.beside}  {'; '.join(words)}\n")


def _what_of_failures(cluster: LiveCluster) -> str:
    if cluster.resolved.node_recovery == "None":
        return "a node that fails stays out of service, because HyperPod may not replace it here"
    return "a node that fails is rebooted or replaced by HyperPod: its disks may be lost"


def _check_deep(
    options: argparse.Namespace, cluster: LiveCluster, operations: ClusterOperations
) -> ExitCode:
    nodes = nodes_of(cluster.nodes, options.nodes)
    checks = wanted_checks(nodes, cluster.resolved)
    slurm = cluster.slurm()
    plan = plan_check(nodes, slurm.look([node.name for node in nodes]))
    say_plan(plan, requeue=options.requeue)
    for each in checks:
        say(f"checks of {each.group}: {', '.join(each.checks)}")
    say(_what_of_failures(cluster))
    if not is_confirmed(cluster.resolved.environment, options, "check them"):
        say("nothing was changed")
        return ExitCode.FAILED
    with if_interrupted(GOES_ON):
        ends = DeepCheck(NodeWork(cluster.live, slurm, say), operations).run(
            plan, checks, requeue=options.requeue
        )
    code = print_ends(ends, as_json=options.json)
    say(f"next: slurmpod status {shlex.quote(str(options.file))}")
    return code
