"""Faults that cost a cluster a node, or might: most of the time Slurm waits for it."""

from __future__ import annotations

import pytest

from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.fault import Fault, run_fault
from slurmpod.rehearsal.faults.registry import chosen
from tools.faults_page import figures

LOST_NODES = chosen(
    [
        "worker-power-cut",
        "worker-dies-at-once",
        "network-cut",
        "network-lost",
        "clock-skew",
        "two-replaced",
        "replacement-fails",
        "wrong-munge-key",
    ]
)


@pytest.mark.parametrize("fault", LOST_NODES, ids=lambda fault: fault.name)
def test_nothing_is_lost(fault: Fault, cluster: FaultCluster, measured: dict[str, str]) -> None:
    report = run_fault(fault, cluster)
    assert report.lost == ()
    measured[fault.name] = figures(report)
