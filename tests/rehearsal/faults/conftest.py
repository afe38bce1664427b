"""A real cluster for the faults of one file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from slurmpod.rehearsal.faults.cluster import FaultCluster
from tests.rehearsal.faults.lab_cluster import ENVIRONMENT, NAME, WORKERS, lab_cluster
from tests.rehearsal.hyperpod_lab import HyperPodLab
from tests.rehearsal.test_lifecycle_bundles import customer_group, upload


@pytest.fixture(scope="module")
def cluster(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultCluster]:
    """One that our own scripts set up; each fault leaves it whole for the next."""
    with HyperPodLab(tmp_path_factory.mktemp("lab"), image) as lab:
        uri = upload(lab, ENVIRONMENT)
        counts = {"head": 1, "login": 1, "cpu": WORKERS}
        groups = [customer_group(name, uri, count) for name, count in counts.items()]
        assert lab.create(NAME, groups).get("FailureMessage") is None
        yield lab_cluster(lab)
