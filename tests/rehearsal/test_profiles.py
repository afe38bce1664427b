"""Our lifecycle scripts on nodes of other profiles than the default one, several at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from slurmpod.rehearsal.shell import Shell
from tests.rehearsal.hyperpod_lab import HyperPodLab
from tests.rehearsal.test_lifecycle_bundles import customer_group, upload

ENVIRONMENT = """
name: adverse
account: "123456789012"
region: us-west-2
network: {zone: us-west-2a}
cluster:
  groups:
    - {name: head, role: controller, instance_type: ml.m5.large}
    - {name: login, role: login, instance_type: ml.m5.large}
    - {name: gpu, role: worker, instance_type: ml.g5.12xlarge, partition: gpu}
"""
PROFILES = ("returns-once-told", "exclusive-dev")


class Cluster:
    """A controller, a login node and a worker."""

    def __init__(self, lab: HyperPodLab) -> None:
        self.lab = lab
        self.head = lab.shell("adverse", "head", user="root")
        self.login = lab.shell("adverse", "login")

    def run(self, shell: Shell, command: str) -> str:
        return shell.run(["sh", "-c", f"PATH=/opt/slurm/bin:$PATH; {command} 2>&1 || :"]).strip()

    def parameter(self, name: str) -> str:
        return self.run(self.head, f"scontrol show config | sed -n 's/^{name} *= //p'")


@pytest.fixture(scope="module")
def cluster(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with HyperPodLab(tmp_path_factory.mktemp("lab"), image, PROFILES) as lab:
        uri = upload(lab, ENVIRONMENT)
        workers = {**customer_group("gpu", uri), "InstanceType": "ml.g5.12xlarge"}
        groups = [customer_group("head", uri), customer_group("login", uri), workers]
        created = lab.create("adverse", groups)
        assert created.get("FailureMessage") is None
        yield Cluster(lab)


def test_the_nodes_are_those_of_the_profiles(cluster: Cluster) -> None:
    assert cluster.parameter("ReturnToService") == "1"
    assert "OverSubscribe=EXCLUSIVE" in cluster.run(cluster.head, "scontrol show partition dev")


@pytest.mark.parametrize("partition", ["dev", "gpu"])
def test_jobs_run_from_the_login_node(cluster: Cluster, partition: str) -> None:
    job = f"srun --quiet --partition {partition} --gres gpu:2 printenv SLURM_STEP_GPUS"
    assert cluster.run(cluster.login, job) == "0,1"
