"""Faults that cost a cluster a node, or might: most of the time Slurm waits for it."""

from __future__ import annotations

import pytest

from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.fault import Fault, run_fault
from slurmpod.rehearsal.faults.registry import chosen

LOST_NODES = chosen(
    [
        "worker-power-cut",
        "worker-power-off",
        "batch-host-power-cut",
        "worker-dies-at-once",
        "network-cut",
        "clock-skew",
        "two-replaced",
        "replacement-fails",
        "wrong-munge-key",
    ]
)


@pytest.mark.parametrize("fault", LOST_NODES, ids=lambda fault: fault.name)
def test_nothing_is_lost(fault: Fault, cluster: FaultCluster) -> None:
    assert run_fault(fault, cluster).lost == ()
