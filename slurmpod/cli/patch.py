"""`slurmpod patch`: update nodes to HyperPod's newest software after their jobs, by group."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from slurmpod.aws.cluster import ClusterView, Node
from slurmpod.bundle import scripts_of
from slurmpod.cli.confirmation import is_confirmed
from slurmpod.cli.connect import has_group, has_plugin
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.live_cluster import LiveCluster, live_cluster
from slurmpod.cli.node_changes import add_confirmation, add_requeue, print_ends, say_jobs
from slurmpod.cli.output import if_interrupted, say, say_next
from slurmpod.environment.cluster import Role
from slurmpod.operations.check_job import CheckedJob, run_check_job
from slurmpod.operations.connect import NodeSessions
from slurmpod.operations.node_plan import Action, NodePlan, plan_action
from slurmpod.operations.node_work import NodeWork
from slurmpod.operations.patch import GroupPatch, Rollout, patches
from slurmpod.operations.questions import ask_node
from slurmpod.operations.required_plugins import groups_without
from slurmpod.operations.slurm_remote import RemoteSlurm
from slurmpod.platform_profiles.canary import require_canary
from slurmpod.problems import ExitCode, counted
from slurmpod.resolve.database import records_key

GOES_ON = """\
HyperPod continues the current update, and nodes may be drained in Slurm;
the same command waits for it and continues, `slurmpod node resume` resumes the nodes"""

Plans = Sequence[tuple[GroupPatch, NodePlan]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument(
        "--group", action="append", default=[], help="only this group; may be repeated"
    )
    parser.add_argument(
        "--after-canary",
        type=Path,
        metavar="FILE",
        help="only if `rehearse --observed FILE` has passed with these scripts",
    )
    add_confirmation(parser)
    add_requeue(parser)


def run(options: argparse.Namespace) -> ExitCode:
    """Show the groups in order with their jobs, ask, and patch one after the other."""
    if not has_plugin():
        return ExitCode.FAILED
    if options.after_canary:
        _require_canary(options)
    cluster = live_cluster(options.file)
    if not all(has_group(cluster.resolved, name) for name in options.group):
        return ExitCode.USAGE
    slurm = cluster.slurm()
    plans = _plans(cluster, slurm, options.group)
    saves = records_key(cluster.resolved) is not None
    _say_plans(cluster, plans, saves=saves, requeue=options.requeue)
    if not is_confirmed(cluster.resolved.environment, options, "patch them"):
        say("nothing was changed")
        return ExitCode.FAILED
    sessions = NodeSessions(cluster.clients)

    def check_job(patch: GroupPatch) -> CheckedJob | None:
        return run_check_job(ClusterView(cluster.clients), cluster.resolved, sessions, patch.group)

    def lacking(nodes: Sequence[Node]) -> Mapping[str, str]:
        id_ = ClusterView(cluster.clients).cluster_id(cluster.resolved.name)
        return groups_without(slurm, nodes, partial(ask_node, sessions, id_))

    work = NodeWork(cluster.live, slurm, say)
    rollout = Rollout(work, cluster.live, say, check_job, lacking)
    with if_interrupted(GOES_ON):
        ends = rollout.run(plans, saves=saves, requeue=options.requeue)
    code = print_ends(ends, as_json=options.json)
    say_next("lifecycle report", options.file)
    return code


def _require_canary(options: argparse.Namespace) -> None:
    """Print the proof of the canary; raises NotProven."""
    resolved = sound_environment(options.file).resolved
    proof = require_canary(options.after_canary, scripts_of(resolved))
    job = f", and {proof.job} ran" if proof.job else ""
    say(f"rehearsed on {options.after_canary}: {proof.scripts}{job}")


def _plans(cluster: LiveCluster, slurm: RemoteSlurm, only: Sequence[str]) -> Plans:
    found = []
    for patch in patches(cluster.resolved, only, cluster.nodes):
        view = slurm.look([node.name for node in patch.freed])
        found.append((patch, plan_action(Action.PATCH, patch.freed, view, cluster.resolved)))
    return found


def _say_plans(cluster: LiveCluster, plans: Plans, *, saves: bool, requeue: bool) -> None:
    say("update to HyperPod's newest software, group by group, stopping at the first failure:")
    for patch, plan in plans:
        group = cluster.live.group(patch.group)
        image = group.get("CurrentImageId") or "HyperPod's image"
        say(f"{patch.group}: {counted(len(patch.nodes), 'node')} with {image}")
        if plan.nodes:
            say_jobs(plan, requeue=requeue)
        if patch.role is Role.CONTROLLER:
            _say_loss(cluster, saves=saves)
    say("all nodes of a group get new root volumes; data on the old ones is lost")


def _say_loss(cluster: LiveCluster, *, saves: bool) -> None:
    """Print what the controller loses with its root volume."""
    if cluster.resolved.slurm.multi_head:
        return
    say("  pending jobs are lost with the controller's disk")
    if not cluster.resolved.slurm.accounting or cluster.resolved.database:
        return
    say(
        "  job records are saved first, and restored"
        if saves
        else "  ALL JOB RECORDS ARE LOST: set slurm.records_backup, deploy, and run its scripts"
    )
