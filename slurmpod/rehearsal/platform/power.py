"""Taking machines away, whether they run, boot, or never came to be."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.platform.cluster_agent import hostname

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slurmpod.rehearsal.cloud.platform import ClusterNode
    from slurmpod.rehearsal.nodes.machines import Machines


def cut_power(machines: Machines, nodes: Iterable[ClusterNode]) -> None:
    """End the machines of these nodes; their disks are lost."""
    for node in nodes:
        with contextlib.suppress(MachineFailed):  # it was never booted
            machines.power_cut(hostname(node))
