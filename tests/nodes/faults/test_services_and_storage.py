"""All other faults: failing services and file systems, repeated scripts, many new nodes."""

from __future__ import annotations

import pytest

from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.fault import Fault, run_fault
from slurmpod.rehearsal.faults.registry import FAULTS
from tests.nodes.faults.test_lost_nodes import LOST_NODES
from tests.nodes.faults.test_what_commands_say import SHOWN

ELSEWHERE = {*SHOWN, *(fault.name for fault in LOST_NODES)}
OTHERS = [fault for fault in FAULTS if fault.need is None and fault.name not in ELSEWHERE]


@pytest.mark.parametrize("fault", OTHERS, ids=lambda fault: fault.name)
def test_nothing_is_lost(fault: Fault, cluster: FaultCluster) -> None:
    assert run_fault(fault, cluster).lost == ()
