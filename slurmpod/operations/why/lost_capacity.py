"""Nodes lost together: their training plan has ended, or their zone has failed. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from slurmpod.aws.cluster import IN_SERVICE, ClusterState, Node
from slurmpod.operations.why.job_facts import JobNow
from slurmpod.operations.why.story import Cause
from slurmpod.resolve import Resolved

_WITHOUT_NODES = ("PENDING", "CONFIGURING", "NODE_FAIL")


def groups_without_plan(cluster: ClusterState) -> tuple[str, ...]:
    """Return the groups whose training plan has ended."""
    return tuple(group.name for group in cluster.groups if group.has_ended_plan)


def cause_of_ended_plan(group: str) -> Cause:
    """Return the effect of a plan's end on the nodes of its group."""
    return Cause(
        f"the training plan of {group} has ended, and its nodes went with it",
        f"reserve others: slurmpod capacity search ENV {group} --days 14",
    )


def causes_of_node_without_plan(node: Node | None, ended: Collection[str]) -> Iterator[Cause]:
    """Yield that a node is down because the training plan of its group has ended."""
    if node and node.status != IN_SERVICE and node.group in ended:
        yield cause_of_ended_plan(node.group)


def causes_of_job_without_nodes(
    job: JobNow, nodes: Sequence[Node], ended: Collection[str], resolved: Resolved
) -> Iterator[Cause]:
    """Yield that no node of a job's partition runs, or that no group in it still has a plan."""
    groups = [each.name for each in resolved.groups if each.partition == job.partition]
    there = [node for node in nodes if node.group in groups]
    if groups and job.state in _WITHOUT_NODES and set(groups) <= set(ended):
        yield from map(cause_of_ended_plan, groups)
    elif there and job.state == "PENDING" and all(node.status != IN_SERVICE for node in there):
        said = f"{there[0].status} {there[0].message}".strip()
        yield Cause(
            f"no node of {job.partition} runs: of {there[0].name} SageMaker says {said}",
            f"see why: slurmpod why ENV {there[0].name}",
        )


@dataclass(frozen=True)
class LostZone:
    """A zone with no running node, while other zones have some."""

    zone: str
    groups: tuple[str, ...]
    nodes: int

    @property
    def cause(self) -> Cause:
        """Return the meaning, and the next step."""
        return Cause(
            f"none of its {self.nodes} nodes ({', '.join(self.groups)}) runs, and those of other"
            " zones do",
            "look for trouble in this zone: https://health.aws.amazon.com; HyperPod replaces the"
            " nodes as soon as it has instances: slurmpod status ENV --watch",
        )


def lost_zones(
    resolved: Resolved, nodes: Sequence[Node], ended: Collection[str]
) -> Iterator[LostZone]:
    """Yield the zones that have lost all of several nodes; `ended` groups have another cause."""
    zones = {group.name: group.zone for group in resolved.groups if group.name not in ended}
    running = {zones.get(node.group) for node in nodes if node.status == IN_SERVICE}
    for zone in dict.fromkeys(zones.values()):
        lost = [node.group for node in nodes if zones.get(node.group) == zone]
        if running - {None} and zone not in running and len(lost) > 1:
            yield LostZone(zone, tuple(dict.fromkeys(lost)), len(lost))
