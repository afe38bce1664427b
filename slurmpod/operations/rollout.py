"""The deployed scripts on nodes of several groups: usually controllers first, workers last.

Workers query a controller, which creates accounts and partitions. A group with a failed node is the
last one to run, to limit the damage of a mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from slurmpod.aws.cluster import ClusterView, Node
from slurmpod.bundle import render_bundle
from slurmpod.changes.change import Change
from slurmpod.environment.cluster import Role
from slurmpod.operations.connect import NodeSessions
from slurmpod.operations.drained_run import DrainedRun
from slurmpod.operations.lifecycle import NodeReport, RunPlan, plan_run, run_plan
from slurmpod.resolve import Resolved

ORDER = (Role.CONTROLLER, Role.LOGIN, Role.WORKER)

WORKERS_FIRST = {"lifecycle.containers": True, "access.ssh_needs_job": False}
"""Changes, with their new values, after which a controller needs updated workers: pyxis
to start a job, and logins that no longer wait for one (docs/lifecycle.md)."""


def workers_go_first(found: Iterable[Change]) -> bool:
    """Return whether jobs would not start if a controller is changed before its workers."""
    return any(
        change.path in WORKERS_FIRST and bool(change.new) is WORKERS_FIRST[change.path]
        for change in found
    )


def can_run_scripts(resolved: Resolved) -> bool:
    """Return whether an environment's nodes run slurmpod's scripts, which can be run again."""
    return render_bundle(resolved) is not None and resolved.lifecycle.own_scripts is None


def stale_nodes(
    nodes: ClusterView, resolved: Resolved, due: Collection[str] = ()
) -> tuple[Node, ...]:
    """Return the running nodes whose scripts will be outdated once the file is deployed.

    `due` are the instance ids with pending scripts of an earlier deployment. Raises AwsUnavailable.
    """
    bundle = render_bundle(resolved)
    if bundle is None or not can_run_scripts(resolved):
        return ()
    uris = nodes.bundle_uris(resolved.name)
    groups = {group.name for group in resolved.groups}
    older = {
        name for name, uri in uris.items() if uri and not uri.rstrip("/").endswith(bundle.prefix)
    }
    return tuple(
        node
        for node in _running(nodes, resolved.name)
        if node.group in groups and (node.group in older or node.instance_id in due)
    )


def plan_rollout(
    nodes: ClusterView,
    resolved: Resolved,
    *,
    only: Collection[str] | None = None,
    dry_run: bool = False,
    workers_first: bool = False,
) -> tuple[RunPlan, ...]:
    """Plan a run for each group with running nodes, in order; `only` are instance ids.

    Raises:
        AwsUnavailable: AWS does not answer, or there is nothing to run.
    """
    groups = {
        node.group
        for node in _running(nodes, resolved.name)
        if only is None or node.instance_id in only
    }
    order = reversed(ORDER) if workers_first else ORDER
    names = [each.name for role in order for each in resolved.groups_with(role)]
    return tuple(
        plan_run(nodes, resolved, name, None, dry_run=dry_run, chosen=only)
        for name in names
        if name in groups
    )


def run_rollout(
    plans: Sequence[RunPlan],
    tell: Callable[[NodeReport], None],
    sessions: NodeSessions,
    workers: DrainedRun | None = None,
) -> Iterator[NodeReport]:
    """Run the plans one after the other, up to the first with a node that fails.

    `workers` drains nodes that Slurm knows as workers; without it none are drained.
    """
    for plan in plans:
        if workers and plan.nodes[0].group in workers.groups and not plan.dry_run:
            reports = workers.run(plan)
        else:
            reports = run_plan(plan, tell, sessions)
        yield from reports
        if not all(report.succeeded for report in reports):
            return


def _running(nodes: ClusterView, cluster: str) -> list[Node]:
    return [node for node in nodes.nodes(cluster) if node.status == "Running"]
