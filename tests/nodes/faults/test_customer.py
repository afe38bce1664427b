"""Faults where our scripts set up Slurm: those that need it, and some that differ there.

The differences are in the start of Slurm and the mount of the file system, and the cluster has no
events.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.fault import Fault, Need, run_fault
from slurmpod.rehearsal.faults.registry import FAULTS, chosen
from tests.nodes.faults.lab_cluster import ENVIRONMENT, NAME, WORKERS, lab_cluster
from tests.nodes.hyperpod_lab import HyperPodLab
from tests.nodes.test_lifecycle_bundles import customer_group, upload

NEEDS_IT = tuple(fault for fault in FAULTS if fault.need is Need.CUSTOMER)
DIFFERS = chosen(["worker-power-cut", "database-down", "scripts-twice", "replacement-fails"])


@pytest.fixture(scope="module")
def cluster(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultCluster]:
    with HyperPodLab(tmp_path_factory.mktemp("lab"), image) as lab:
        uri = upload(lab, ENVIRONMENT)
        counts = {"head": 1, "login": 1, "cpu": WORKERS}
        groups = [customer_group(name, uri, count) for name, count in counts.items()]
        assert lab.create(NAME, groups).get("FailureMessage") is None
        yield lab_cluster(lab)


@pytest.mark.parametrize("fault", NEEDS_IT + DIFFERS, ids=lambda fault: fault.name)
def test_nothing_is_lost(fault: Fault, cluster: FaultCluster) -> None:
    assert run_fault(fault, cluster).lost == ()
