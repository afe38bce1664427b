"""The kinds of operations on one cluster node, with the events at their start and end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from embedded_aws.cluster import Cluster, ClusterEvent, ClusterNode
from embedded_aws.sagemaker.events import (
    reboot_begins,
    reboot_ends,
    replacement_begins,
    replacement_ends,
    root_volume_begins,
    root_volume_ends,
)


@dataclass(frozen=True)
class Operation:
    """A kind of operation: the events recorded when it starts, and when it ends or fails."""

    begins: Callable[[Cluster, ClusterNode], ClusterEvent]
    ends: Callable[[Cluster, ClusterNode, str | None], ClusterEvent]


REPLACEMENT = Operation(replacement_begins, replacement_ends)
REBOOT = Operation(reboot_begins, reboot_ends)
SOFTWARE_UPDATE = Operation(root_volume_begins, root_volume_ends)
