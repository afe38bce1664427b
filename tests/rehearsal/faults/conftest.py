"""A real cluster for the faults of one file, and the page on which all faults are described."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from slurmpod.rehearsal.faults.cluster import FaultCluster
from tests.golden_files import ROOT
from tests.rehearsal.faults.lab_cluster import ENVIRONMENT, NAME, WORKERS, lab_cluster
from tests.rehearsal.hyperpod_lab import HyperPodLab
from tests.rehearsal.test_lifecycle_bundles import customer_group, upload
from tools.faults_page import faults_page, measured_on

PAGE = ROOT / "docs" / "faults.md"


@pytest.fixture(scope="module")
def cluster(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultCluster]:
    """One that our own scripts set up; each fault leaves it whole for the next."""
    with HyperPodLab(tmp_path_factory.mktemp("lab"), image) as lab:
        uri = upload(lab, ENVIRONMENT)
        counts = {"head": 1, "login": 1, "cpu": WORKERS}
        groups = [customer_group(name, uri, count) for name, count in counts.items()]
        assert lab.create(NAME, groups).get("FailureMessage") is None
        yield lab_cluster(lab)


@pytest.fixture(scope="module")
def measured(update_golden: bool) -> Iterator[dict[str, str]]:
    """Collect figures of each fault, for the page if that is to be written."""
    found: dict[str, str] = {}
    yield found
    if update_golden:
        before = measured_on(PAGE.read_text()) if PAGE.exists() else {}
        PAGE.write_text(faults_page({**before, **found}))
