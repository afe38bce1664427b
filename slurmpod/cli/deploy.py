"""`slurmpod deploy`: what is written becomes what runs, on the stacks, on the nodes, in Slurm."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slurmpod.aws.clients import AwsClients, clients_of
from slurmpod.aws.cluster import Node
from slurmpod.cli.changes_text import changes_text
from slurmpod.cli.confirmation import is_confirmed
from slurmpod.cli.connect import has_plugin
from slurmpod.cli.diff import facts, say_about_cluster
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.lifecycle import print_reports
from slurmpod.cli.output import counted, print_json, say, say_next
from slurmpod.cli.plan_text import plan_text
from slurmpod.cli.preflight import asked
from slurmpod.cli.stack_work import StackWork, stack_named, work_folder
from slurmpod.environment.cluster import Role
from slurmpod.operations.attempt import plain
from slurmpod.operations.check_job import CheckedJob, run_check_job
from slurmpod.operations.connect import NodeSessions
from slurmpod.operations.deploy.cdk import CDK_IS_MISSING, cdk_script
from slurmpod.operations.deploy.late_nodes import LateGroup, late_groups
from slurmpod.operations.deploy.pending_scripts import FILE, PendingScripts
from slurmpod.operations.difference import Difference, compared_with_deployed
from slurmpod.operations.drained_run import workers_of
from slurmpod.operations.lifecycle import NodeReport
from slurmpod.operations.migration.moves import moves_in
from slurmpod.operations.rollout import (
    plan_rollout,
    run_rollout,
    stale_nodes,
    workers_go_first,
)
from slurmpod.permissions.rights import rights_of_users
from slurmpod.plan.amounts import per_month
from slurmpod.plan.plan import plan_of
from slurmpod.plan.prices import bundled_prices
from slurmpod.preflight.judge import UNANSWERED, judge
from slurmpod.problem_text import problems_text
from slurmpod.problems import ExitCode, has_errors
from slurmpod.rules.check import Sound


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument("--only", metavar="STACK", help="deploy this stack alone, e.g. storage")
    parser.add_argument(
        "--no-nodes", action="store_true", help="run no scripts on nodes, and no job"
    )
    parser.add_argument("--dry-run", action="store_true", help="only show what would be done")
    parser.add_argument("--yes", action="store_true", help="do it without asking")
    parser.add_argument("--json", action="store_true", help="print what was done as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """Show what changes, ask, deploy, run scripts on nodes that need it, and see a job run."""
    wanted = sound_environment(options.file)
    only = stack_named(wanted.resolved, options.only) if options.only else ""
    if only is None:
        return ExitCode.USAGE
    clients = clients_of(wanted.resolved.region)
    with work_folder(wanted.resolved) as folder:
        if is_stopped_by_the_account(wanted):
            say("nothing was deployed")
            return ExitCode.FAILED
        work = Work(options, wanted, clients, folder, only)
        if not options.json:
            work.show()
        if work.difference.is_refused_by_aws:
            say(
                "AWS refuses the changes that are marked 'refused', or is not known to take them: "
                "nothing was deployed"
            )
            return ExitCode.FAILED
        if options.dry_run:
            return work.end(Done())
        if not is_prepared(options):
            return ExitCode.UNPREPARED
        if not is_confirmed(wanted.environment, options, "deploy this"):
            say("nothing was deployed")
            return ExitCode.FAILED
        return work.end(work.carry_out())


@dataclass(frozen=True)
class Done:
    """What a deployment did beyond the stacks; `is_deployed` is False for one not carried out.

    `late` are the groups whose nodes are not all there, which is no failure.
    """

    is_deployed: bool = False
    reports: Sequence[NodeReport] = ()
    job: CheckedJob | None = None
    late: Sequence[LateGroup] = ()


class Work:
    """One deployment: what is to be done, known before it begins, and doing it."""

    def __init__(
        self,
        options: argparse.Namespace,
        wanted: Sound,
        clients: AwsClients,
        folder: Path,
        only: str,
        again: str = "",
    ) -> None:
        self._again = again or _again(options)
        self._options = options
        self._wanted = wanted
        self._resolved = wanted.resolved
        self._only = only
        self._due = folder / FILE
        self._stacks = StackWork.of(options.file, self._resolved, folder, clients)
        self._nodes = self._stacks.nodes
        self.difference: Difference = compared_with_deployed(clients, self._resolved)
        owed = PendingScripts.read(self._due)
        self._workers_first = owed.workers_first or workers_go_first(self.difference.changes)
        self.stale: tuple[Node, ...] = self._stale(owed)
        self._owed = {node.instance_id for node in self.stale} | self._still_there(owed)

    def show(self) -> None:
        """Print what changes, what it costs, and on which nodes scripts will run."""
        resolved = self._resolved
        plan = plan_of(resolved, bundled_prices(resolved.region))
        deployed = self.difference.deployed
        if deployed is None:
            sys.stdout.write(plan_text(plan, rights_of_users(resolved)))
        elif deployed.record is not None:
            text = changes_text(self.difference.changes, resolved.name, self._wanted.source)
            sys.stdout.write(f"{text}costs then: {per_month(plan.total)}\n")
            for move in moves_in(self.difference.changes):
                sys.stdout.write(f"{move.path}: slurmpod migrate checks this, and what stays\n")
        say_about_cluster(self.difference, self._options.file)
        if self._only:
            sys.stdout.write(f"only the stack {self._only} is deployed\n")
        if self.stale:
            how = "keep older scripts" if self._options.no_nodes else "run the new scripts"
            sys.stdout.write(
                f"{counted(len(self.stale), 'node')} will {how}: {_groups(self.stale)}\n"
            )
        sys.stdout.flush()

    def deploy_before_the_cluster(self) -> None:
        """Deploy all stacks but that of the cluster, and what comes after it."""
        self._stacks.settle()
        for name in self._resolved.stacks.in_order():
            if name == self._resolved.stacks.cluster:
                return
            self._stacks.deploy(name, self._confirmed)

    def carry_out(self, *, sees_job: bool = True) -> Done:
        """Deploy the stacks, then see to the nodes; raises StacksFailed, AwsUnavailable.

        At the end a job is seen to run, unless somebody else looks what Slurm does.
        """
        try:
            self._deploy()
            done = self._see_to_nodes(sees_job=sees_job)
            return dataclasses.replace(done, late=self._late())
        except KeyboardInterrupt:
            self._stacks.say_interrupted(self._again)
            raise

    def end(self, done: Done) -> ExitCode:
        """Tell how it went, and name the next command."""
        if self._options.json:
            print_json({**self._data(), **dataclasses.asdict(done)})
        elif done.reports:
            roles = {group.name: group.role for group in self._resolved.groups}
            print_reports(done.reports, roles)
        failed = any(not each.succeeded for each in done.reports)
        if failed:
            say("scripts failed on some nodes; later groups were skipped")
        if done.job:
            say(done.job.detail if done.job.succeeded else f"no job ran: {done.job.detail}")
        self._say_late(done.late)
        if failed or (done.job and not done.job.succeeded):
            say_next(
                "status" if done.late and not failed else "lifecycle report", self._options.file
            )
            return ExitCode.FAILED
        self._say_next(done)
        return ExitCode.OK

    def _deploy(self) -> None:
        self._stacks.settle()
        self._remember(self._owed)
        self._stacks.deploy(self._only, self._confirmed)

    @property
    def _confirmed(self) -> str:
        """What lets a protected environment lose what somebody has confirmed."""
        return self.difference.confirmation if self.difference.needs_confirmation else ""

    @property
    def _is_of_cluster(self) -> bool:
        return self._only in ("", self._resolved.stacks.cluster)

    def _see_to_nodes(self, *, sees_job: bool) -> Done:
        if self._options.no_nodes or not self._is_of_cluster:
            return Done(is_deployed=True)
        progress, sessions = self._stacks.progress, NodeSessions(self._nodes.clients)
        reports: list[NodeReport] = []
        due = {node.instance_id for node in self.stale}
        if due:
            plans = plan_rollout(
                self._nodes,
                self._resolved,
                only=due,
                workers_first=self._workers_first,
            )
            with progress.stage("scripts run on nodes"):
                workers = workers_of(self._nodes, self._resolved, sessions, self._tell, self._say)
                reports += run_rollout(plans, self._tell, sessions, workers)
            self._remember(self._owed - {each.instance_id for each in reports if each.succeeded})
        if not sees_job or any(not each.succeeded for each in reports):
            return Done(is_deployed=True, reports=reports)
        with progress.stage("a job run"):
            job = self._run_job(sessions)
        return Done(is_deployed=True, reports=reports, job=job)

    def _run_job(self, sessions: NodeSessions) -> CheckedJob | None:
        """Run the job, unless all workers lack an instance: that may take hours to change."""
        without = {each.name for each in self._late() if each.has_none}
        workers = {each.name for each in self._resolved.groups_with(Role.WORKER) if each.count}
        if workers and workers <= without:
            return CheckedJob(False, "no worker has an instance yet")
        return run_check_job(self._nodes, self._resolved, sessions)

    def _tell(self, report: NodeReport) -> None:
        self._say(f"{report.name}: {report.summary}")

    def _say(self, line: str) -> None:
        self._stacks.progress.note(f"  {line}")

    def _stale(self, owed: PendingScripts) -> tuple[Node, ...]:
        if not self._has_nodes:
            return ()
        return stale_nodes(self._nodes, self._resolved, owed.instance_ids)

    def _still_there(self, owed: PendingScripts) -> set[str]:
        """Return what an earlier deployment owes to nodes that are there, also if none runs now."""
        if not (owed.instance_ids and self._has_nodes):
            return set(owed.instance_ids)
        there = {node.instance_id for node in self._nodes.nodes(self._resolved.name)}
        return there.intersection(owed.instance_ids)

    @property
    def _has_nodes(self) -> bool:
        """Return whether there is a cluster, and this deployment is about it."""
        deployed = self.difference.deployed
        return deployed is not None and deployed.has_cluster and self._is_of_cluster

    def _remember(self, instance_ids: set[str]) -> None:
        """Keep which nodes are owed their scripts; without the cluster's stack nothing changes."""
        if self._is_of_cluster:
            PendingScripts(tuple(sorted(instance_ids)), self._workers_first).write(self._due)

    def _data(self) -> dict[str, Any]:
        stacks = [self._only] if self._only else [*self._resolved.stacks.in_order()]
        return {
            "name": self._resolved.name,
            **facts(self.difference),
            "stacks": stacks,
            "nodes": [plain(node) for node in self.stale],
        }

    def _late(self) -> tuple[LateGroup, ...]:
        if not (self._resolved.continuous and self._is_of_cluster):
            return ()
        return late_groups(self._nodes, self._resolved.name)

    def _say_late(self, late: Sequence[LateGroup]) -> None:
        for group in late:
            say(group.text)
        if late:
            say("HyperPod goes on asking for these nodes; no other deployment is needed")

    def _say_next(self, done: Done) -> None:
        if not done.is_deployed:
            say(f"next: {self._again}")
        elif not self._is_of_cluster:
            say_next("diff", self._options.file)
        elif self.stale and not done.reports:
            say_next("lifecycle run", self._options.file)
        elif done.late:
            say_next("status", self._options.file)
        else:
            say_next("connect", self._options.file)


def is_stopped_by_the_account(wanted: Sound) -> bool:
    """Return whether the preflight finds what would stop a deployment, and say all that it finds.

    What the caller may not ask stops nothing: the CDK deploys in roles of its own.
    """
    problems = judge(wanted, asked(wanted))
    if problems:
        say(problems_text(problems, sys.stderr) + "\n")
    return has_errors(each for each in problems if each.rule != UNANSWERED)


def is_prepared(options: argparse.Namespace) -> bool:
    """Return whether this machine has what the command needs; say what it lacks."""
    if cdk_script() is None:
        say(CDK_IS_MISSING)
        return False
    if options.no_nodes or has_plugin():
        return True
    say("or leave nodes alone: slurmpod deploy --no-nodes")
    return False


def _groups(nodes: Sequence[Node]) -> str:
    groups = dict.fromkeys(node.group for node in nodes)
    counts = {group: sum(node.group == group for node in nodes) for group in groups}
    return ", ".join(f"{count} of {group}" for group, count in counts.items())


def _again(options: argparse.Namespace) -> str:
    given = [f"--only {shlex.quote(options.only)}"] if options.only else []
    given += ["--no-nodes"] if options.no_nodes else []
    return " ".join(["slurmpod deploy", shlex.quote(str(options.file)), *given])
