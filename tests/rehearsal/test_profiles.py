"""Our lifecycle scripts on nodes of other profiles than the default one, several at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slurmpod.rehearsal.shell import Shell
from tests.rehearsal.conftest import wait_until
from tests.rehearsal.hyperpod_lab import HyperPodLab, hostname, succeeds
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
    - {name: gpu, role: worker, instance_type: ml.g5.12xlarge, partition: gpu, count: 2}
access: {ssh_needs_job: true}
"""
PROFILES = (
    "returns-once-told",
    "shared-dev",
    "overwritten",
    "apt-locked",
    "own-name-unknown",
    "old-scripts",
)
SHORTER = """
image: {apt_locked_milliseconds: 4000, own_name_unknown_milliseconds: 4000}
"""
LOOK = """\
{
    getent ahosts "$(hostname)" >/dev/null || echo no name
    python3 -c 'import fcntl; fcntl.lockf(open("/var/lib/dpkg/lock-frontend", "w"), 6)' \
        2>/dev/null || echo locked
    echo VERSION
} >/root/seen
"""
"""What the entry script finds at its start; 6 is LOCK_EX | LOCK_NB."""


OTHERS = (
    "gres-types",
    "accounting-included",
    "login-unlisted",
    "late-nodes",
    "no-pam-slurm-adopt",
)


class Cluster:
    """A controller, a login node and workers."""

    def __init__(self, lab: HyperPodLab, groups: list[dict[str, Any]]) -> None:
        self.lab = lab
        self.head = lab.shell("adverse", "head", user="root")
        self.login = lab.shell("adverse", "login")
        self._groups = groups

    def run(self, shell: Shell, command: str) -> str:
        return shell.run(["sh", "-c", f"PATH=/opt/slurm/bin:$PATH; {command} 2>&1 || :"]).strip()

    def parameter(self, name: str) -> str:
        return self.run(self.head, f"scontrol show config | sed -n 's/^{name} *= //p'")

    def state(self, name: str) -> str:
        return self.run(self.head, f"sinfo --noheader --nodes {name} --partition gpu --format %T")

    def workers(self, count: int) -> None:
        """Change how many workers there are."""
        self._groups[-1]["InstanceCount"] = count
        changed = self.lab.update("adverse", self._groups)
        assert changed.get("FailureMessage") is None


def groups_of(uri: str) -> list[dict[str, Any]]:
    workers = {**customer_group("gpu", uri), "InstanceType": "ml.g5.12xlarge"}
    return [customer_group("head", uri), customer_group("login", uri), workers]


def test_scripts_bear_the_other_way_round_too(image: Path, tmp_path: Path) -> None:
    """This comes first: a process has one lab at a time, and the other one stays to the end."""
    with HyperPodLab(tmp_path, image, OTHERS) as lab:
        uri = upload(lab, ENVIRONMENT.replace("access: {ssh_needs_job: true}", ""))
        groups = groups_of(uri)
        created = lab.create("adverse", groups)
        assert created.get("FailureMessage") is None
        other = Cluster(lab, groups)
        assert other.run(other.head, "find / -xdev -name pam_slurm_adopt.so") == ""
        name = hostname(lab.nodes("adverse", "gpu")[0])
        wait_until(lambda: other.state(name) == "idle", "the worker")
        assert other.run(other.login, "sinfo --noheader --format %n | sort -u") == name
        assert other.run(other.login, "srun --quiet --partition gpu hostname") == name
        assert "COMPLETED" in other.run(other.login, "sacct --noheader --format State")


@pytest.fixture(scope="module")
def cluster(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("adverse")
    (folder / "shorter.yaml").write_text(SHORTER)
    (folder / "lab").mkdir()
    profiles = (*PROFILES, str(folder / "shorter.yaml"))
    with HyperPodLab(folder / "lab", image, profiles) as lab:
        uri = upload(lab, ENVIRONMENT, on_create=LOOK)
        groups = groups_of(uri)
        created = lab.create("adverse", groups)
        assert created.get("FailureMessage") is None
        yield Cluster(lab, groups)


def test_the_nodes_are_those_of_the_profiles(cluster: Cluster) -> None:
    assert cluster.parameter("ReturnToService") == "1"
    assert "OverSubscribe=NO" in cluster.run(cluster.head, "scontrol show partition dev")
    for group in ("head", "login", "gpu"):
        seen = cluster.run(cluster.lab.shell("adverse", group, user="root"), "cat /root/seen")
        assert seen.splitlines() == ["no name", "locked", "VERSION"], group


@pytest.mark.parametrize("partition", ["dev", "gpu"])
def test_jobs_run_from_the_login_node(cluster: Cluster, partition: str) -> None:
    job = f"srun --quiet --partition {partition} --gres gpu:2 printenv SLURM_STEP_GPUS"
    assert cluster.run(cluster.login, job) == "0,1"


def test_a_job_ends_well_though_slurm_conf_is_written_anew_while_it_runs(cluster: Cluster) -> None:
    wait = "sh -c 'until [ -e /fsx/ubuntu/go ]; do sleep 0.2; done'"
    number = cluster.run(cluster.login, f'cd /fsx/ubuntu; sbatch -p gpu --parsable --wrap "{wait}"')
    wait_until(lambda: cluster.run(cluster.head, "squeue --noheader -o %T") == "RUNNING", "the job")
    cluster.workers(2)
    assert cluster.run(cluster.head, "squeue --noheader -o %T") == "RUNNING"
    cluster.login.run(["touch", "/fsx/ubuntu/go"])
    record = f"sacct --noheader --allocations --parsable2 --jobs {number} --format State"
    wait_until(lambda: cluster.run(cluster.login, record) == "COMPLETED", "the record")
    kept = "accounting_storage/slurmdbd"
    wait_until(lambda: cluster.parameter("AccountingStorageType") == kept, "our settings")


def test_a_replaced_node_is_in_service_with_the_scripts_of_before(cluster: Cluster) -> None:
    lab = cluster.lab
    upload(lab, ENVIRONMENT, on_create=LOOK.replace("VERSION", "newer"))
    worker = lab.nodes("adverse", "gpu")[0]
    name = hostname(worker)
    replace = lab.aws.sagemaker.batch_replace_cluster_nodes
    replace(ClusterName="adverse", NodeIds=[worker["InstanceId"]])
    shell = Shell(lab.folder, name, "root")
    wait_until(
        lambda: worker["InstanceId"] not in {n["InstanceId"] for n in lab.nodes("adverse", "gpu")},
        "the replacement",
    )
    wait_until(lambda: succeeds(shell, "grep", "VERSION", "/root/seen"), "the scripts")
    wait_until(lambda: cluster.state(name) == "idle", "the new node")
