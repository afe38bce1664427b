"""EC2's instances for a rehearsed cluster: unlimited, or fewer during a shortage.

Any process can create a shortage by writing to a file in the rehearsal's folder. How long HyperPod
waits for capacity does not depend on the clock either: the file says when its wait is over.
"""

from __future__ import annotations

import threading
from pathlib import Path

from pydantic_core import from_json, to_json

from embedded_aws.cluster import ClusterNode
from slurmpod.whole_file import write_whole

CAPACITY_FILE = "capacity.json"


def no_capacity(instance_type: str) -> str:
    """Return HyperPod's message (developer guide, "cluster events reference")."""
    return (
        f"We currently do not have sufficient capacity to launch new {instance_type} instances. "
        "Please try again."
    )


class Shortage:
    """Controls from outside how many instances exist; `folder` is the rehearsal's."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / CAPACITY_FILE

    def limit(self, group: str, instances: int, *, hours_are_over: bool = False) -> None:
        """Limit a group to this many instances, including running ones.

        Running instances stay until their machines end. With `hours_are_over`, HyperPod's wait for
        the group's minimum number of nodes is over.
        """
        said = {"most": instances, "hours_are_over": hours_are_over}
        write_whole(self._file, to_json({**self._said(), group: said}))

    def end(self) -> None:
        """Remove all limits."""
        self._file.unlink(missing_ok=True)

    def end_plan(self, arn: str) -> None:
        """End a training plan now; it is active again when the shortage ends."""
        write_whole(self._file, to_json({**self._said(), arn: {}}))

    def ends_plan(self, arn: str) -> bool:
        """Return whether a training plan ends early."""
        return arn in self._said()

    def most(self, group: str) -> int | None:
        """Return how many instances a group may have; None means unlimited."""
        said = self._said().get(group)
        return None if said is None else int(said["most"])

    def hours_are_over(self, group: str) -> bool:
        """Return whether HyperPod's wait for a group is over."""
        return bool(self._said().get(group, {}).get("hours_are_over"))

    def _said(self) -> dict[str, dict[str, int]]:
        try:
            found: dict[str, dict[str, int]] = from_json(self._file.read_bytes())
        except FileNotFoundError:
            return {}
        return found


class Capacity:
    """Gives instances to the nodes of one cluster while there are any."""

    def __init__(self, shortage: Shortage) -> None:
        self._shortage = shortage
        self._lock = threading.Lock()
        self._taken: dict[str, set[str]] = {}

    def take(self, node: ClusterNode) -> bool:
        """Return whether there is an instance for a node; a node keeps the one it has."""
        with self._lock:
            taken = self._taken.setdefault(node.group, set())
            most = self._shortage.most(node.group)
            if node.logical_id not in taken and most is not None and len(taken) >= most:
                return False
            taken.add(node.logical_id)
            return True

    def give_back(self, node: ClusterNode) -> None:
        """Record that a node's instance has ended; a new one has to be taken."""
        with self._lock:
            self._taken.get(node.group, set()).discard(node.logical_id)

    def hours_are_over(self, group: str) -> bool:
        """Return whether HyperPod's wait for a group is over."""
        return self._shortage.hours_are_over(group)
