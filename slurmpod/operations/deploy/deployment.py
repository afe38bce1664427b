"""One deployment: its plan, made before it begins, and carrying it out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from slurmpod.aws.cluster import Node
from slurmpod.environment.cluster import Role
from slurmpod.operations.check_job import CheckedJob, run_check_job
from slurmpod.operations.connect import NodeSessions
from slurmpod.operations.deploy.late_nodes import LateGroup, late_groups
from slurmpod.operations.deploy.pending_scripts import FILE, PendingScripts
from slurmpod.operations.deploy.stack_work import StackWork
from slurmpod.operations.difference import Difference, compared_with_deployed
from slurmpod.operations.drained_run import workers_of
from slurmpod.operations.lifecycle import NodeReport
from slurmpod.operations.rollout import plan_rollout, run_rollout, stale_nodes, workers_go_first


@dataclass(frozen=True)
class Done:
    """The work of a deployment beyond the stacks; `is_deployed` is False if it was not confirmed.

    `late` are the groups whose nodes are not all there, which is no failure.
    """

    is_deployed: bool = False
    reports: Sequence[NodeReport] = ()
    job: CheckedJob | None = None
    late: Sequence[LateGroup] = ()

    @property
    def scripts_failed(self) -> bool:
        """Whether they failed on a node: later groups were then skipped, and no job was run."""
        return any(not each.succeeded for each in self.reports)


class Deployment:
    """The changes to stacks and nodes; `stale` are the nodes that need scripts.

    `only` is the single stack to deploy, if not all.
    """

    def __init__(self, stacks: StackWork, only: str = "", *, leaves_nodes: bool = False) -> None:
        self.stacks, self.only, self._leaves_nodes = stacks, only, leaves_nodes
        self.resolved, self._nodes = stacks.resolved, stacks.nodes
        self._due = stacks.folder / FILE
        self.difference: Difference = compared_with_deployed(self._nodes.clients, self.resolved)
        owed = PendingScripts.read(self._due)
        self._workers_first = owed.workers_first or workers_go_first(self.difference.changes)
        self.stale: tuple[Node, ...] = self._stale(owed)
        self._owed = {node.instance_id for node in self.stale} | self._still_there(owed)

    @property
    def is_of_cluster(self) -> bool:
        """Whether the cluster's stack is deployed."""
        return self.only in ("", self.resolved.stacks.cluster)

    def deploy_before_the_cluster(self) -> None:
        """Deploy all stacks before that of the cluster, and none after it."""
        self.stacks.settle()
        for name in self.resolved.stacks.in_order():
            if name == self.resolved.stacks.cluster:
                return
            self.stacks.deploy(name, self._confirmed)

    def carry_out(self, *, sees_job: bool = True) -> Done:
        """Deploy the stacks, then update the nodes; raises StacksFailed, AwsUnavailable.

        At the end it runs a test job, unless the caller checks Slurm itself.
        """
        self.stacks.settle()
        self._remember(self._owed)
        self.stacks.deploy(self.only, self._confirmed)
        return replace(self._see_to_nodes(sees_job=sees_job), late=self._late())

    @property
    def _confirmed(self) -> str:
        """The losses of a protected environment that the user has confirmed."""
        return self.difference.confirmation if self.difference.needs_confirmation else ""

    def _see_to_nodes(self, *, sees_job: bool) -> Done:
        if self._leaves_nodes or not self.is_of_cluster:
            return Done(is_deployed=True)
        sessions = NodeSessions(self._nodes.clients)
        done = Done(is_deployed=True, reports=self._run_scripts(sessions) if self.stale else ())
        if not sees_job or done.scripts_failed:
            return done
        with self.stacks.progress.stage("a job run"):
            return replace(done, job=self._run_job(sessions))

    def _run_scripts(self, sessions: NodeSessions) -> Sequence[NodeReport]:
        """Run scripts on stale nodes, and keep only the failed ones as pending."""
        plans = plan_rollout(
            self._nodes,
            self.resolved,
            only={node.instance_id for node in self.stale},
            workers_first=self._workers_first,
        )
        with self.stacks.progress.stage("scripts run on nodes"):
            workers = workers_of(self._nodes, self.resolved, sessions, self._tell, self._say)
            reports = tuple(run_rollout(plans, self._tell, sessions, workers))
        self._remember(self._owed - {each.instance_id for each in reports if each.succeeded})
        return reports

    def _run_job(self, sessions: NodeSessions) -> CheckedJob | None:
        """Run the job, unless no worker has an instance yet: that may take hours."""
        without = {each.name for each in self._late() if each.has_none}
        workers = {each.name for each in self.resolved.groups_with(Role.WORKER) if each.count}
        if workers and workers <= without:
            return CheckedJob(False, "no worker has an instance yet")
        return run_check_job(self._nodes, self.resolved, sessions)

    def _tell(self, report: NodeReport) -> None:
        self._say(f"{report.name}: {report.summary}")

    def _say(self, line: str) -> None:
        self.stacks.progress.note(f"  {line}")

    def _stale(self, owed: PendingScripts) -> tuple[Node, ...]:
        if not self._has_nodes:
            return ()
        return stale_nodes(self._nodes, self.resolved, owed.instance_ids)

    def _still_there(self, owed: PendingScripts) -> set[str]:
        """Return the pending scripts of an earlier deployment for existing nodes."""
        if not (owed.instance_ids and self._has_nodes):
            return set(owed.instance_ids)
        there = {node.instance_id for node in self._nodes.nodes(self.resolved.name)}
        return there.intersection(owed.instance_ids)

    @property
    def _has_nodes(self) -> bool:
        """Return whether the cluster exists, and this deployment includes it."""
        deployed = self.difference.deployed
        return deployed is not None and deployed.has_cluster and self.is_of_cluster

    def _remember(self, instance_ids: set[str]) -> None:
        """Save the nodes with pending scripts; without the cluster's stack nothing changes."""
        if self.is_of_cluster:
            PendingScripts(tuple(sorted(instance_ids)), self._workers_first).write(self._due)

    def _late(self) -> tuple[LateGroup, ...]:
        if not (self.resolved.continuous and self.is_of_cluster):
            return ()
        return late_groups(self._nodes, self.resolved.name)
