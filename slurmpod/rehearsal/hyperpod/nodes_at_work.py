"""Locks of nodes: one operation at a time on each, by any caller.

Users request operations through the API; the health monitoring agent starts its own.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from embedded_aws.cluster import ClusterNode, StillAtWork

_PATIENCE_SECONDS = 0.2


class NodeBusy(StillAtWork):
    """Another operation on the node is in progress."""


class NodesAtWork:
    """The nodes of one cluster, identified by their addresses, which outlive instances."""

    def __init__(self) -> None:
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def is_busy(self, node: ClusterNode) -> bool:
        """Return whether an operation on a node is in progress."""
        return self._locks[node.private_ip].locked()

    @contextmanager
    def alone(self, node: ClusterNode) -> Iterator[None]:
        """Lock a node during an operation; raises NodeBusy if it is locked."""
        lock = self._locks[node.private_ip]
        if not lock.acquire(blocking=False):
            raise NodeBusy(
                f"Another operation on {node.instance_id} is in progress.",
                lambda: self.wait_for(node),
            )
        try:
            yield
        finally:
            lock.release()

    def wait_for(self, node: ClusterNode) -> None:
        """Wait until no operation on a node is in progress."""
        with self._locks[node.private_ip]:
            pass

    @contextmanager
    def after_all(self, node: ClusterNode, interrupt: Callable[[], None]) -> Iterator[None]:
        """Lock a node for its last operation, once `interrupt` has ended the current one."""
        lock = self._locks[node.private_ip]
        interrupt()
        while not lock.acquire(timeout=_PATIENCE_SECONDS):
            interrupt()  # it may have reached the next step
        try:
            yield
        finally:
            lock.release()
