"""Running jobs that conflict with an automatic patch of HyperPod.

On the patch date HyperPod cordons all nodes of a group, and waits 24 hours for them to become idle
unless configured otherwise, which DescribeCluster does not show. A job that runs longer keeps its
node from the patch. Source: API reference, ClusterAutoPatchConfig and
ClusterAutoPatchConfigDetails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.cluster import ClusterView, GroupState, Node
from slurmpod.operations.connect import NodeSessions
from slurmpod.operations.questions import as_root, ask_controller, question
from slurmpod.resolve import Resolved
from slurmpod.slurm.hostlist import expanded
from slurmpod.slurm.queue import WITH_NODES, QueuedJob, read_queue, squeue

JOBS = "jobs"
USUAL_WINDOW = timedelta(hours=24)
SECONDS = 20
"""Timeout of squeue: without slurmctld it retries."""


@dataclass(frozen=True)
class Collisions:
    """A group to patch, the date (None: not set), and the jobs that outlast it."""

    group: str
    strategy: str
    begins: datetime | None
    jobs: tuple[QueuedJob, ...]


def collisions_of(
    clients: AwsClients, resolved: Resolved, sessions: NodeSessions, now: datetime
) -> tuple[Collisions, ...]:
    """Read the dates from HyperPod and the jobs from Slurm; raises AwsUnavailable."""
    view = ClusterView(clients)
    cluster = view.cluster(resolved.name)
    patched = [group for group in cluster.groups if group.patch_strategy is not None]
    if not patched:
        return ()
    nodes = view.nodes(resolved.name)
    answers = ask_controller(sessions, resolved, cluster.id, nodes, jobs_command())
    return tuple(_collisions(group, nodes, read_queue(answers[JOBS]), now) for group in patched)


def _collisions(
    group: GroupState, nodes: Sequence[Node], jobs: Sequence[QueuedJob], now: datetime
) -> Collisions:
    names = {node.name for node in nodes if node.group == group.name}
    begins = group.next_patch
    found = outlasting(jobs, names, begins or now)
    return Collisions(group.name, group.patch_strategy or "", begins, found)


def outlasting(
    jobs: Sequence[QueuedJob], nodes: set[str], begins: datetime
) -> tuple[QueuedJob, ...]:
    """Return the jobs on these nodes that still run when HyperPod stops waiting."""
    return tuple(
        job
        for job in jobs
        if nodes.intersection(expanded(job.nodes))
        and (job.ends is None or job.ends > begins + USUAL_WINDOW)
    )


def jobs_command() -> str:
    """Return the command for a controller's shell; read-only."""
    asked = squeue("--all", f"--states={WITH_NODES}")
    return as_root(f"PATH=/opt/slurm/bin:$PATH\n{question(JOBS, f'timeout {SECONDS} {asked}')}")
