"""`slurmpod scale`: change the number of nodes in a group, in the cluster and in the file.

The file is the source of truth: a deployment sets each group to the count in it. So the count is
changed there, too, if that is safe; otherwise a message says what will happen.
"""

from __future__ import annotations

import argparse
import dataclasses
import shlex
from collections.abc import Sequence
from pathlib import Path

from slurmpod.cli.confirmation import is_confirmed
from slurmpod.cli.connect import has_group, has_plugin
from slurmpod.cli.live_cluster import LiveCluster, live_cluster
from slurmpod.cli.node_changes import (
    add_confirmation,
    add_requeue,
    at_least,
    print_ends,
    say_plan,
    work_on,
)
from slurmpod.cli.output import if_interrupted, print_json, say, say_next
from slurmpod.operations.node_plan import Action, NodePlan, plan_action
from slurmpod.operations.node_work import NodeWork, Outcome
from slurmpod.operations.scale import (
    Growth,
    ScalePlan,
    check_group,
    count_in_file,
    plan_scale,
    with_count,
    write_count,
)
from slurmpod.operations.slurm_remote import RemoteSlurm, SlurmView
from slurmpod.problems import ExitCode, counted
from slurmpod.rules.check import sound


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument("group", help="instance group")
    parser.add_argument("count", type=at_least(0), help="the new number of nodes")
    add_confirmation(parser)
    add_requeue(parser)


def run(options: argparse.Namespace) -> ExitCode:
    """Show which nodes come or go, ask, do it, and keep the file in sync."""
    cluster = live_cluster(options.file)
    if not has_group(cluster.resolved, options.group):
        return ExitCode.USAGE
    return scale(cluster, options, options.count)


def scale(cluster: LiveCluster, options: argparse.Namespace, count: int) -> ExitCode:
    """Scale a group to a count; raises InvalidEnvironment if the rules refuse it."""
    group = options.group
    check_group(cluster.resolved.environment, group)
    sound(with_count(cluster.reading, group, count))
    described = cluster.live.group(group)
    shrinks = count < described["TargetCount"]
    if shrinks and not has_plugin():
        return ExitCode.FAILED
    slurm = cluster.slurm() if shrinks else None
    names = [node.name for node in cluster.nodes if node.group == group]
    view = slurm.look(names) if slurm else SlurmView()
    plan = plan_scale(described, count, cluster.nodes, view)
    return _carry_out(cluster, options, plan, slurm)


def _carry_out(
    cluster: LiveCluster, options: argparse.Namespace, plan: ScalePlan, slurm: RemoteSlurm | None
) -> ExitCode:
    requeue = getattr(options, "requeue", False)
    deletion = _deletion(cluster, plan, slurm)
    _say_scale(cluster, plan, deletion, requeue=requeue)
    if plan.count != plan.before and not is_confirmed(
        cluster.resolved.environment, options, "do it"
    ):
        say("nothing was changed")
        return ExitCode.FAILED
    with if_interrupted(_goes_on(options, plan)):
        if deletion and slurm:
            ends = work_on(NodeWork(cluster.live, slurm, say), deletion, requeue=requeue)
        else:
            ends = _grow(cluster, plan)
        code = _print(plan, ends, as_json=options.json)
        keep_file(cluster, plan.group, cluster.live.group(plan.group)["TargetCount"])
    say_next("lifecycle report", options.file)
    return code


def _goes_on(options: argparse.Namespace, plan: ScalePlan) -> str:
    """Return how to reach this count, also in the file; `node add` again would add more."""
    again = f"slurmpod scale {shlex.quote(str(options.file))} {plan.group} {plan.count}"
    return f"HyperPod continues; to reach {plan.count} nodes and update the file: {again}"


def _deletion(cluster: LiveCluster, plan: ScalePlan, slurm: RemoteSlurm | None) -> NodePlan | None:
    """Return the plan for the nodes that go, with their jobs only."""
    if not plan.leaving or slurm is None:
        return None
    view = slurm.look([node.name for node in plan.leaving])
    return plan_action(Action.DELETE, plan.leaving, view, cluster.resolved)


def _grow(cluster: LiveCluster, plan: ScalePlan) -> tuple[Outcome, ...]:
    if plan.is_resized:
        cluster.live.resize(plan.group, plan.count)
    return Growth(cluster.live, say).wait(plan)


def _say_scale(
    cluster: LiveCluster, plan: ScalePlan, deletion: NodePlan | None, *, requeue: bool
) -> None:
    if plan.count == plan.before:
        say(f"{plan.group} already has {counted(plan.count, 'node')}")
        return
    say(f"{plan.group}: {counted(plan.before, 'node')} now, {plan.count} after")
    if deletion:
        say_plan(deletion, requeue=requeue)
    place = count_in_file(cluster.reading, plan.group)
    if place:
        say(f"{place.file}:{place.line} will be set to count: {plan.count}")


def _print(plan: ScalePlan, ends: Sequence[Outcome], *, as_json: bool) -> ExitCode:
    if not as_json:
        return print_ends(ends, as_json=False)
    nodes = [dataclasses.asdict(end) for end in ends]
    print_json({"group": plan.group, "before": plan.before, "count": plan.count, "nodes": nodes})
    return ExitCode.OK if all(end.succeeded for end in ends) else ExitCode.FAILED


def keep_file(cluster: LiveCluster, group: str, count: int) -> None:
    """Set the file's count to the group's current one; print a note if that is not safe."""
    wanted = next(each.count for each in cluster.resolved.groups if each.name == group)
    if wanted == count:
        return
    place = count_in_file(cluster.reading, group)
    if place and write_count(place, count):
        say(f"{place.file}:{place.line} is set to count: {count}; commit it")
        return
    say(
        f"the environment has count: {wanted} for {group}, where slurmpod cannot change it safely;"
        f" the next deployment resets it unless you write {count} there"
    )
