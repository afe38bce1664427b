"""Every fault on one real cluster, set up by our own scripts; each leaves it whole for the next.

Slurm's patience with a silent node is shorter than HyperPod's, so that its end can be waited for.
So is that with a message: a ping that waits for one node delays those that it hands on to others,
and they would all be given up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slurmpod.rehearsal.scenarios.faults.page import faults_page, figures, measured_on
from slurmpod.rehearsal.scenarios.faults.registry import FAULTS
from slurmpod.rehearsal.scenarios.faults.run import run_fault
from tests.golden_files import ROOT
from tests.rehearsal.faults.lab_cluster import lab_cluster
from tests.rehearsal.hyperpod_lab import HyperPodLab
from tests.rehearsal.test_lifecycle_bundles import customer_group, upload

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from slurmpod.rehearsal.scenarios.faults.cluster import FaultCluster
    from slurmpod.rehearsal.scenarios.faults.fault import Fault

PAGE = ROOT / "docs" / "faults.md"
NAME = "faults"
WORKERS = 2
ENVIRONMENT = f"""
name: {NAME}
account: "123456789012"
region: us-west-2
network: {{zone: us-west-2a}}
storage:
  lustre: {{capacity_gib: 1200, throughput_mbps_per_tib: 125}}
slurm:
  settings: {{SlurmdTimeout: 15, MessageTimeout: 5}}
cluster:
  groups:
    - {{name: head, role: controller, instance_type: ml.m5.large}}
    - {{name: login, role: login, instance_type: ml.m5.large}}
    - {{name: cpu, role: worker, instance_type: ml.m5.large, count: {WORKERS}, partition: cpu}}
"""


@pytest.fixture(scope="module")
def cluster(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultCluster]:
    with HyperPodLab(tmp_path_factory.mktemp("lab"), image) as lab:
        uri = upload(lab, ENVIRONMENT)
        counts = {"head": 1, "login": 1, "cpu": WORKERS}
        groups = [customer_group(name, uri, count) for name, count in counts.items()]
        assert lab.create(NAME, groups).get("FailureMessage") is None
        yield lab_cluster(lab, NAME)


@pytest.fixture(scope="module")
def measured(update_golden: bool) -> Iterator[dict[str, str]]:
    """Collect figures of each fault, for the page if that is to be written."""
    found: dict[str, str] = {}
    yield found
    if update_golden:
        before = measured_on(PAGE.read_text()) if PAGE.exists() else {}
        PAGE.write_text(faults_page({**before, **found}))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_nothing_is_lost(fault: Fault, cluster: FaultCluster, measured: dict[str, str]) -> None:
    report = run_fault(fault, cluster)
    assert report.lost == ()
    measured[fault.name] = figures(report)
