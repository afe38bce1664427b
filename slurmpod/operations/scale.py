"""Changing the number of nodes in a group: the nodes to delete, and the count in the file.

slurmpod chooses the nodes to delete, because HyperPod does not know about jobs: drained ones
first, then idle ones, then the others, which are drained.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from slurmpod.aws.cluster import Node
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.live_nodes import LiveNodes
from slurmpod.environment.cluster import Role
from slurmpod.environment.environment import Environment
from slurmpod.operations.node_work import POLL_SECONDS, Outcome
from slurmpod.operations.slurm_remote import SlurmView
from slurmpod.reading.read import Reading
from slurmpod.whole_file import write_whole

ENDED = {"Running", "Failure"}
"""Final statuses of nodes, for which there is no more waiting."""

AT_REST = {"InService", "Failed"}
"""Statuses of clusters that HyperPod is not updating: a new target is only visible later."""


@dataclass(frozen=True)
class ScalePlan:
    """The change of one group; `leaving` are the nodes to delete, in order."""

    group: str
    before: int
    count: int
    leaving: tuple[Node, ...]

    @property
    def is_resized(self) -> bool:
        """Return whether HyperPod gets the new count, because no existing node is deleted."""
        return self.count != self.before and not self.leaving


def plan_scale(
    described: Mapping[str, Any], count: int, live: Sequence[Node], view: SlurmView
) -> ScalePlan:
    """Choose the nodes to delete; none if the group grows, or only pending nodes are removed."""
    name, target = described["InstanceGroupName"], described["TargetCount"]
    there = [node for node in live if node.group == name]
    surplus = max(0, target - count)
    to_come = max(0, target - len(there))
    leaving: list[Node] = []
    if surplus > to_come:
        leaving = sorted(there, key=lambda node: _worth(node, view))[:surplus]
    return ScalePlan(name, target, count, tuple(leaving))


def _worth(node: Node, view: SlurmView) -> tuple[bool, bool, bool, str]:
    """Return the sort key of nodes: the least useful ones come first."""
    slurm = view.nodes.get(node.name)
    is_busy = slurm is not None and not slurm.is_free
    is_held = slurm is not None and slurm.is_held
    return node.status == "Running", is_busy, not is_held, node.name


@dataclass
class Growth:
    """Waiting for the nodes of a resized group; `tell` takes lines for people."""

    live: LiveNodes
    tell: Callable[[str], None]
    pause: Callable[[float], None] = time.sleep

    def wait(self, plan: ScalePlan) -> tuple[Outcome, ...]:
        """Wait until all nodes are in service, or have failed, or HyperPod has given up."""
        reported: dict[str, Node] = {}
        while True:
            there = [node for node in self.live.all() if node.group == plan.group]
            for node in there:
                if node.status in ENDED and node.instance_id not in reported:
                    reported[node.instance_id] = node
                    self.tell(f"{node.name}: {node.status}")
            if len(there) == plan.count and all(node.status in ENDED for node in there):
                return tuple(_end(node) for node in there)
            group = self.live.group(plan.group)
            if group["ClusterStatus"] in AT_REST and group["TargetCount"] != plan.count:
                reason = group.get("FailureMessage") or "HyperPod gives no reason"
                message = f"the target is {group['TargetCount']} again: {reason}"
                return (Outcome(plan.group, plan.group, "", succeeded=False, detail=message),)
            self.pause(POLL_SECONDS)


def _end(node: Node) -> Outcome:
    succeeded = node.status == "Running"
    detail = "in service" if succeeded else f"{node.status}: {node.message}"
    return Outcome(node.name, node.group, node.instance_id, succeeded=succeeded, detail=detail)


def check_group(environment: Environment, name: str) -> None:
    """Raise AwsUnavailable for the controller group, whose size only a deployment changes."""
    group = next(each for each in environment.cluster.groups if each.name == name)
    if group.role is Role.CONTROLLER:
        raise AwsUnavailable(
            f"{name} has the controllers: HyperPod cannot add or delete them while a cluster runs"
        )


def with_count(reading: Reading, name: str, count: int) -> Reading:
    """Return the environment with another count, to be checked against the rules."""
    environment = reading.environment
    if environment is None:
        return reading
    groups = tuple(
        group.model_copy(update={"count": count}) if group.name == name else group
        for group in environment.cluster.groups
    )
    cluster = environment.cluster.model_copy(update={"groups": groups})
    return replace(reading, environment=environment.model_copy(update={"cluster": cluster}))


@dataclass(frozen=True)
class CountInFile:
    """The place of a group's count in a file, and its value."""

    file: Path
    line: int
    column: int
    count: int


def count_in_file(reading: Reading, name: str) -> CountInFile | None:
    """Return the place where the environment's own file has a group's count as a plain number.

    None if it is a default, or in a file that others extend, too: then users change it.
    """
    environment = reading.environment
    names = [group.name for group in environment.cluster.groups] if environment else []
    path = ("cluster", "groups", names.index(name), "count")
    position = reading.source.values.get(path)
    if environment is None or position is None or position[0] != reading.source.file:
        return None
    file, line, column = position
    count = environment.cluster.groups[names.index(name)].count
    place = CountInFile(Path(file), line, column, count)
    return place if changed_text(Path(file).read_text(encoding="utf-8"), place, count) else None


def write_count(place: CountInFile, count: int) -> bool:
    """Write another count there, and nothing else; return whether the file was unchanged."""
    with place.file.open(encoding="utf-8", newline="") as file:
        text = changed_text(file.read(), place, count)
    if text is None:
        return False
    write_whole(place.file, text)
    return True


def changed_text(text: str, place: CountInFile, count: int) -> str | None:
    """Return the text with another number there; None if the old number is not there."""
    lines = text.splitlines(keepends=True)
    if place.line > len(lines):
        return None
    before, after = (
        lines[place.line - 1][: place.column - 1],
        lines[place.line - 1][place.column - 1 :],
    )
    written = str(place.count)
    if not after.startswith(written) or after[len(written) : len(written) + 1].isalnum():
        return None
    lines[place.line - 1] = f"{before}{count}{after.removeprefix(written)}"
    return "".join(lines)
