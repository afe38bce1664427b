"""A real cluster for the faults of one file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from slurmpod.rehearsal.faults.cluster import FaultCluster
from tests.nodes.faults.lab_cluster import ENVIRONMENT, NAME, WORKERS, lab_cluster
from tests.nodes.hyperpod_lab import HyperPodLab, group
from tests.nodes.test_lifecycle_bundles import by_api, upload


@pytest.fixture(scope="module")
def cluster(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultCluster]:
    """A cluster where HyperPod sets up Slurm before our scripts, with continuous provisioning.

    Each fault leaves it intact for the next. Its login nodes are no nodes of Slurm.
    """
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
