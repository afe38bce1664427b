"""Faults where HyperPod sets Slurm up and our scripts run after it, provisioned continuously.

Some of those that can be tried there: what differs is who starts Slurm, and that the cluster has
events. Here, login nodes are no nodes of Slurm.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.fault import Fault, run_fault
from slurmpod.rehearsal.faults.registry import chosen
from tests.rehearsal.faults.lab_cluster import ENVIRONMENT, NAME, WORKERS, lab_cluster
from tests.rehearsal.hyperpod_lab import HyperPodLab, group
from tests.rehearsal.test_lifecycle_bundles import by_api, upload

SOME = chosen(["worker-power-cut", "scripts-twice", "replacement-fails"])


@pytest.fixture(scope="module")
def cluster(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultCluster]:
    with HyperPodLab(tmp_path_factory.mktemp("lab"), image, ("login-unlisted",)) as lab:
        uri = upload(lab, f"edition: 2026{ENVIRONMENT}")
        common = by_api(lab, uri)
        groups = [
            group("head", "Controller", **common),
            group("login", "Login", **common),
            group("cpu", "Compute", WORKERS, **common),
        ]
        lab.create_continuously(NAME, groups)
        yield lab_cluster(lab)


@pytest.mark.parametrize("fault", SOME, ids=lambda fault: fault.name)
def test_nothing_is_lost(fault: Fault, cluster: FaultCluster) -> None:
    assert run_fault(fault, cluster).lost == ()
