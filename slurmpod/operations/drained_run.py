"""Draining workers before scripts that would disturb their jobs.

Most steps leave jobs alone. Mount steps mount over folders that jobs may have open. An interrupted
run leaves nodes drained, with a reason by which the next run finds and resumes them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from slurmpod.aws.cluster import ClusterView, Node
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.environment.cluster import Role
from slurmpod.operations.connect import NodeSessions
from slurmpod.operations.lifecycle import AT_ONCE, NodeReport, RunPlan, run_plan
from slurmpod.operations.slurm_remote import RemoteSlurm, SlurmView
from slurmpod.problems import first_of
from slurmpod.resolve import Resolved, session_target

DISTURBING = frozenset({"efa_client", "mount_fsx", "mount_s3", "scratch"})
"""Steps before which jobs leave a node."""

REASON = "slurmpod lifecycle run"
LOOK_SECONDS = 60
"""How long one look waits for jobs: AWS ends sessions that are silent for long."""

NAMES_SHOWN = 5

Nodes = Collection[Node]


@dataclass(frozen=True)
class DrainedRun:
    """The worker groups of a cluster; `tell` takes reports as they come, `say` text."""

    groups: Collection[str]
    slurm: RemoteSlurm
    sessions: NodeSessions
    tell: Callable[[NodeReport], None]
    say: Callable[[str], None]

    def run(self, plan: RunPlan) -> tuple[NodeReport, ...]:
        """Run the scripts; drain busy nodes first if the scripts would disturb their jobs.

        A few nodes at a time, stopping after a failure. If Slurm does not answer, it cannot wait
        for jobs: the scripts may well repair it. Raises AwsUnavailable.
        """
        try:
            view = self.slurm.look([node.name for node in plan.nodes])
        except AwsUnavailable as error:
            self.say(f"{error}; jobs are not waited for")
            view = SlurmView()
        ours = {name for name, node in view.nodes.items() if node.is_held_for(REASON)}
        waiting = self._disturbed(plan, view)
        reports = self._run_on(plan, [each for each in plan.nodes if each not in waiting], ours)
        while waiting and all(report.succeeded for report in reports):
            now, waiting = waiting[:AT_ONCE], waiting[AT_ONCE:]
            free = [node.name for node in now if not view.nodes[node.name].is_held]
            self.slurm.drain(free, REASON)
            self._wait([node.name for node in now])
            reports += self._run_on(plan, now, ours | set(free))
        return reports

    def _disturbed(self, plan: RunPlan, view: SlurmView) -> list[Node]:
        """Return the nodes with jobs that the scripts would disturb, from a dry run."""
        busy = {
            node.instance_id: node
            for node in plan.nodes
            if (known := view.nodes.get(node.name)) and not known.is_free
        }
        if not busy:
            return []
        dry = replace(plan, nodes=tuple(busy.values()), dry_run=True)
        reports = run_plan(dry, lambda _: None, self.sessions)
        return [busy[each.instance_id] for each in reports if disturbs(each)]

    def _run_on(self, plan: RunPlan, nodes: Nodes, ours: Collection[str]) -> tuple[NodeReport, ...]:
        """Run the scripts, and resume our drained nodes where they succeeded."""
        if not nodes:
            return ()
        reports = run_plan(replace(plan, nodes=tuple(nodes)), self.tell, self.sessions)
        good = {report.instance_id for report in reports if report.succeeded}
        names = [node.name for node in nodes if node.name in ours]
        back = [node.name for node in nodes if node.instance_id in good]
        self.slurm.resume([name for name in names if name in back])
        if kept := [name for name in names if name not in back]:
            self.say(f"{first_of(kept, NAMES_SHOWN)}: drained until the scripts succeed there")
        return reports

    def _wait(self, names: Collection[str]) -> None:
        said, seconds = "", 0
        while jobs := self.slurm.look(names, seconds=seconds).jobs:
            waiting = f"waiting for the jobs {first_of([job.id for job in jobs], NAMES_SHOWN)}"
            if waiting != said:
                shown = first_of(sorted(names), NAMES_SHOWN)
                self.say(f"{waiting} on {shown} (after Ctrl-C nodes stay drained for the next run)")
            said, seconds = waiting, LOOK_SECONDS


def disturbs(dry: NodeReport) -> bool:
    """Return whether a dry run has a pending step that requires a drain.

    A dry run without a report, as its session failed, may have had such a step.
    """
    return not dry.steps or any(
        step.state == "would run" and step.name in DISTURBING for step in dry.steps
    )


def workers_of(
    nodes: ClusterView,
    resolved: Resolved,
    sessions: NodeSessions,
    tell: Callable[[NodeReport], None],
    say: Callable[[str], None],
) -> DrainedRun:
    """Return the workers of a live cluster, with its Slurm on the running controllers."""
    id_ = nodes.cluster_id(resolved.name)
    targets = [
        session_target(id_, group.name, instance_id)
        for group in resolved.groups_with(Role.CONTROLLER)
        for instance_id in nodes.running(resolved.name, group.name)
    ]
    groups = {group.name for group in resolved.groups_with(Role.WORKER)}
    slurm = RemoteSlurm(NodeSessions(nodes.clients), targets)
    return DrainedRun(groups, slurm, sessions, tell, say)
