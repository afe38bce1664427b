"""What holds for every operation on one node of a cluster in service, whoever began it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slurmpod.rehearsal.cloud.events.happenings import (
    reboot_begins,
    reboot_ends,
    replacement_begins,
    replacement_ends,
    root_volume_begins,
    root_volume_ends,
)
from slurmpod.rehearsal.cloud.platform import ClusterFailed
from slurmpod.rehearsal.platform.cluster_agent import hostname

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slurmpod.rehearsal.cloud.events.happenings import Happening
    from slurmpod.rehearsal.cloud.platform import Cluster, ClusterNode
    from slurmpod.rehearsal.platform.cluster_run import ClusterRun


@dataclass(frozen=True)
class Operation:
    """A kind of operation: the events at its two ends."""

    begins: Callable[[Cluster, ClusterNode], Happening]
    ends: Callable[[Cluster, ClusterNode, str | None], Happening]


REPLACEMENT = Operation(replacement_begins, replacement_ends)
REBOOT = Operation(reboot_begins, reboot_ends)
SOFTWARE_UPDATE = Operation(root_volume_begins, root_volume_ends)


@contextlib.contextmanager
def operation(run: ClusterRun, node: ClusterNode, status: str) -> Iterator[None]:
    """Do something to a node while it is in `status`, and nothing else with it.

    What ends it too early becomes the node's status Failure, and ClusterFailed.
    """
    with run.at_work.alone(node):
        if not run.is_wanted(node):
            raise ClusterFailed(f"{hostname(node)} is no longer wanted.")
        node.status, node.message = status, ""
        try:
            yield
        except Exception as failure:
            raise run.failed(node, node.message or str(failure)) from failure


@contextlib.contextmanager
def recorded(run: ClusterRun, node: ClusterNode, kind: Operation) -> Iterator[None]:
    """Put the beginning and the end of an operation among the cluster's events."""
    run.record(kind.begins(run.cluster, node))
    try:
        yield
    except Exception as failure:
        if run.is_wanted(node):
            run.record(kind.ends(run.cluster, node, node.message or str(failure)))
        raise
    run.record(kind.ends(run.cluster, node, None))
