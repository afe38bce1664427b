"""`slurmpod node check`: how nodes are, and HyperPod's deep health checks on demand."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from slurmpod.aws.cluster_operations import DEEP_CHECK, ClusterOperations
from slurmpod.cli.confirmation import is_confirmed
from slurmpod.cli.live_cluster import LiveCluster, live_cluster
from slurmpod.cli.node_changes import add_confirmation, add_requeue, print_ends, say_plan
from slurmpod.cli.output import if_interrupted, say
from slurmpod.operations.node_check import (
    DeepCheck,
    nodes_of,
    plan_check,
    reports,
    wanted_checks,
)
from slurmpod.operations.node_work import NodeWork
from slurmpod.problems import ExitCode

GOES_ON = (
    "HyperPod goes on with checks that it has begun; nodes that wait for jobs stay drained; the "
    "same command goes on from here"
)


def add_check(parser: argparse.ArgumentParser) -> None:
    """Declare what the action takes."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument(
        "nodes", nargs="+", metavar="NODE|GROUP", help="host name, instance id, or whole group"
    )
    parser.add_argument(
        "--deep",
        action="store_true",
        help="let HyperPod test GPUs and network of the nodes, an hour or more without jobs",
    )
    add_confirmation(parser)
    add_requeue(parser)


def check(options: argparse.Namespace) -> ExitCode:
    """Show how nodes are; with --deep show the plan, ask, check, and say how each came out."""
    cluster = live_cluster(options.file)
    operations = ClusterOperations(cluster.clients, cluster.resolved.name)
    if options.deep:
        return _check_deep(options, cluster, operations)
    nodes = nodes_of(cluster.nodes, options.nodes)
    view = cluster.slurm().look([node.name for node in nodes])
    ends = tuple(reports(nodes, view, operations.newest(Type=DEEP_CHECK)))
    code = print_ends(ends, as_json=options.json)
    if worst := next((end for end in ends if not end.succeeded), None):
        say(f"next: slurmpod why {shlex.quote(str(options.file))} {worst.name}")
    return code


def _what_of_failures(cluster: LiveCluster) -> str:
    if cluster.resolved.node_recovery == "None":
        return "a node that fails stays out of service, as HyperPod may not replace it here"
    return "a node that fails is rebooted or replaced by HyperPod: what its disks hold may be lost"


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
