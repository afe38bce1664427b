"""The instances that EC2 has for a rehearsed cluster: as many as anybody asks for, or fewer.

Who wants a shortage writes it into a file of the rehearsal's folder, from whatever process. How
long HyperPod waits for capacity is not a matter of the clock, either: the file says when its hours
are over.
"""

from __future__ import annotations

import threading
from pathlib import Path

from pydantic_core import from_json, to_json

from embedded_aws.cluster import ClusterNode
from slurmpod.whole_file import write_whole

CAPACITY_FILE = "capacity.json"


def no_capacity(instance_type: str) -> str:
    """Return HyperPod's words (developer guide, "cluster events reference")."""
    return (
        f"We currently do not have sufficient capacity to launch new {instance_type} instances. "
        "Please try again."
    )


class Shortage:
    """Says from outside how many instances there are; `folder` is the rehearsal's."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / CAPACITY_FILE

    def limit(self, group: str, instances: int, *, hours_are_over: bool = False) -> None:
        """Let a group have so many instances at most, those that run included.

        An instance that runs stays, unless its machine ends. With `hours_are_over` HyperPod has
        waited for the group's smallest number of nodes as long as it does.
        """
        said = {"most": instances, "hours_are_over": hours_are_over}
        write_whole(self._file, to_json({**self._said(), group: said}))

    def end(self) -> None:
        """Let every group have as many as it wants."""
        self._file.unlink(missing_ok=True)

    def end_plan(self, arn: str) -> None:
        """Let a training plan end now, and hold again when the shortage ends."""
        write_whole(self._file, to_json({**self._said(), arn: {}}))

    def ends_plan(self, arn: str) -> bool:
        """Return whether a training plan ends before its time."""
        return arn in self._said()

    def most(self, group: str) -> int | None:
        """Return how many instances a group may have; None: any number."""
        said = self._said().get(group)
        return None if said is None else int(said["most"])

    def hours_are_over(self, group: str) -> bool:
        """Return whether HyperPod has waited long enough for a group."""
        return bool(self._said().get(group, {}).get("hours_are_over"))

    def _said(self) -> dict[str, dict[str, int]]:
        try:
            found: dict[str, dict[str, int]] = from_json(self._file.read_bytes())
        except FileNotFoundError:
            return {}
        return found


class Capacity:
    """Gives instances to the nodes of one cluster as long as there are any."""

    def __init__(self, shortage: Shortage) -> None:
        self._shortage = shortage
        self._lock = threading.Lock()
        self._taken: dict[str, set[str]] = {}

    def take(self, node: ClusterNode) -> bool:
        """Return whether there is an instance for a node; it keeps what it has."""
        with self._lock:
            taken = self._taken.setdefault(node.group, set())
            most = self._shortage.most(node.group)
            if node.logical_id not in taken and most is not None and len(taken) >= most:
                return False
            taken.add(node.logical_id)
            return True

    def give_back(self, node: ClusterNode) -> None:
        """Note that a node's instance has ended; who wants another has to take it."""
        with self._lock:
            self._taken.get(node.group, set()).discard(node.logical_id)

    def hours_are_over(self, group: str) -> bool:
        """Return whether HyperPod has waited long enough for a group."""
        return self._shortage.hours_are_over(group)
