"""When a continuously provisioned cluster is in service, without any machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from embedded_aws.cluster import DEEP_HEALTH_CHECK, RUNNING, ClusterFailed, ClusterNode
from slurmpod.platform_profiles.loading import load
from slurmpod.rehearsal.hyperpod.capacity import Capacity, Shortage
from slurmpod.rehearsal.hyperpod.cluster_run import ClusterRun
from slurmpod.rehearsal.hyperpod.creation import ContinuousProvisioning
from slurmpod.rehearsal.hyperpod.provisioning import Provisioning
from slurmpod.rehearsal.hyperpod.software import Software
from slurmpod.rehearsal.state import Journal
from tests.pure.hyperpod.clusters import cluster, group, node


class Machines:
    """Nothing boots."""

    is_closed = False

    def power_cut(self, _: str) -> None:
        return


class Run(ClusterRun):
    """A run whose nodes get into one status, or fail."""

    becomes = ""

    def bring_up(self, node: ClusterNode) -> None:
        if not self.becomes:
            raise ClusterFailed("its scripts failed")
        node.status = self.becomes


def wait_for_login(folder: Path, becomes: str) -> None:
    """Bring a login node up, and wait until the cluster counts as in service."""
    login = node("login", "10.0.0.5")
    machines: Any = Machines()
    run = Run(
        cluster=cluster(group("head"), group("login"), nodes=[node("head", "10.0.0.4"), login]),
        software=Software(load().profile),
        provisioning=Provisioning("head", "login", {}),
        bundles={},
        machines=machines,
        assume_role=lambda _: (_ for _ in ()).throw(AssertionError),
        journal=Journal(folder),
        output_folder=folder,
        capacity=Capacity(Shortage(folder)),
    )
    run.becomes = becomes
    provisioning = ContinuousProvisioning(run)
    provisioning.start([login])
    try:
        provisioning.wait_for_login()
    finally:
        provisioning.end()


@pytest.mark.parametrize("becomes", [RUNNING, DEEP_HEALTH_CHECK])
def test_a_login_node_that_is_up_is_enough(tmp_path: Path, becomes: str) -> None:
    wait_for_login(tmp_path, becomes)


def test_without_a_login_node_the_cluster_fails_and_says_why(tmp_path: Path) -> None:
    with pytest.raises(ClusterFailed, match="its scripts failed"):
        wait_for_login(tmp_path, "")
