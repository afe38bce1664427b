"""Locks of nodes: one thing at a time is done to each, whoever asks for it.

Users ask through the API, and the health monitoring agent by itself.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from embedded_aws.cluster import ClusterNode, StillAtWork

_PATIENCE_SECONDS = 0.2


class NodeBusy(StillAtWork):
    """Something else is being done to the node."""


class NodesAtWork:
    """The nodes of one cluster; they are known by their addresses, which outlive instances."""

    def __init__(self) -> None:
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def is_busy(self, node: ClusterNode) -> bool:
        """Return whether something is being done to a node."""
        return self._locks[node.private_ip].locked()

    @contextmanager
    def alone(self, node: ClusterNode) -> Iterator[None]:
        """Do something to a node; raises NodeBusy when something is being done to it."""
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
        """Return as soon as nothing is being done to a node."""
        with self._locks[node.private_ip]:
            pass

    @contextmanager
    def after_all(self, node: ClusterNode, interrupt: Callable[[], None]) -> Iterator[None]:
        """Do the last thing to a node, as soon as `interrupt` has ended what is being done."""
        lock = self._locks[node.private_ip]
        interrupt()
        while not lock.acquire(timeout=_PATIENCE_SECONDS):
            interrupt()  # it may have gone one step further
        try:
            yield
        finally:
            lock.release()
