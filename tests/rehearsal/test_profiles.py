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
lifecycle: {containers: true}
"""
PROFILES = (
    "ami-2026-07",
    "docker-there",
    "options-in-etc",
    "own-disk",
    "returns-once-told",
    "shared-dev",
    "overwritten",
    "apt-locked",
    "own-name-unknown",
    "old-scripts",
)
SHORTER = """
image: {apt_locked_milliseconds: 4000, own_name_unknown_milliseconds: 4000}
timing: {late_nodes_milliseconds: 2000}
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
    "eth0",
    "gres-types",
    "accounting-included",
    "login-unlisted",
    "late-nodes",
    "no-pam-slurm-adopt",
    "no-mariadb",
    "mounted-by-hyperpod",
)
ARCHIVE = r"""
cat >/usr/local/sbin/apt-get <<'APT'
#!/bin/sh
case "$*" in *" mariadb-server") ;; *) exit ;; esac
cat >/etc/systemd/system/mariadb.service <<'UNIT'
[Service]
Type=notify
User=mysql
RuntimeDirectory=mysqld
ExecStart=/usr/sbin/mariadbd
UNIT
systemctl daemon-reload
APT
chmod 755 /usr/local/sbin/apt-get
"""
"""What stands for Ubuntu's archive, which nodes do not reach: it brings MariaDB back."""

ATTEMPTS_THAT_FAIL = 3
FAILS = """
mkdir -p /mnt/counter && mount -t lustre {source} /mnt/counter
left=$(cat /mnt/counter/left 2>/dev/null || echo 0)
[ "$left" = 0 ] || {{ echo $((left - 1)) >/mnt/counter/left; exit 1; }}
umount /mnt/counter
"""
"""Fails as often as the shared file system says, before anything else."""


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
    (tmp_path / "shorter.yaml").write_text(SHORTER)
    (tmp_path / "lab").mkdir()
    with HyperPodLab(tmp_path / "lab", image, (*OTHERS, str(tmp_path / "shorter.yaml"))) as lab:
        text = ENVIRONMENT.partition("access:")[0]
        uri = upload(lab, text, on_create=FAILS.format(source=lab.lustre_source) + ARCHIVE)
        groups = groups_of(uri)
        created = lab.create("adverse", groups)
        assert created.get("FailureMessage") is None
        other = Cluster(lab, groups)
        assert other.run(other.head, "find / -xdev -name pam_slurm_adopt.so") == ""
        assert other.run(other.head, "find /usr/lib/systemd -name mariadb.service") == ""
        assert "dev eth0" in other.run(other.head, "ip route show default")
        assert_in_service(other)
        assert "COMPLETED" in other.run(other.login, "sacct --noheader --format State")
        assert other.run(other.login, "findmnt -no TARGET /fsx") == "/fsx"
        assert other.run(other.login, "grep -c ' /fsx ' /etc/fstab") == "1"

        shared_file(lab, "left").write_text(f"{ATTEMPTS_THAT_FAIL}\n")
        lab.aws.sagemaker.update_cluster_software(
            ClusterName="adverse", InstanceGroups=[{"InstanceGroupName": "gpu"}]
        )
        assert lab.settled("adverse").get("FailureMessage") is None
        assert shared_file(lab, "left").read_text() == "0\n", "the fourth attempt is the last"
        assert_in_service(other)


def assert_in_service(cluster: Cluster) -> None:
    """Fail unless the one worker is idle soon, alone in Slurm, and gives a job its GPUs."""
    name = hostname(cluster.lab.nodes("adverse", "gpu")[0])
    wait_until(lambda: cluster.state(name) == "idle", "the worker")
    assert cluster.run(cluster.login, "sinfo --noheader --format %n | sort -u") == name
    job = "srun --quiet --partition gpu --gpus-per-node 4 printenv SLURM_STEP_GPUS"
    assert cluster.run(cluster.login, job) == "0,1,2,3"


def shared_file(lab: HyperPodLab, name: str) -> Path:
    (root,) = (lab.folder / "file_systems").iterdir()
    return root / name


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


def test_the_image_is_the_newer_one(cluster: Cluster) -> None:
    for group in ("head", "login", "gpu"):
        root = cluster.lab.shell("adverse", group, user="root")
        assert cluster.run(root, "readlink -f /opt/slurm") == "/opt/slurm-25.11"
        assert "dev ens5" in cluster.run(root, "ip route show default")
        assert cluster.run(root, "findmnt -no SOURCE /opt/sagemaker") == "/dev/nvme1n1"
        unit = "slurmctld" if group == "head" else "slurmd"
        shown = cluster.run(root, f"systemctl show --property EnvironmentFiles {unit}")
        assert f"/etc/default/{unit}" in shown.split("=", 1)[1].split()
    name = hostname(cluster.lab.nodes("adverse", "gpu")[0])
    switches = cluster.run(cluster.head, "scontrol show topology")
    assert "SwitchName=nn-424c Level=0" in switches
    assert name in switches
    assert cluster.run(cluster.head, "grep -c spank_pyxis /opt/slurm/etc/plugstack.conf") == "1"
    assert cluster.run(cluster.login, "srun --quiet --container-image x hostname")
    assert cluster.run(root, "systemctl is-active docker") == "active"


@pytest.mark.parametrize("partition", ["dev", "gpu"])
def test_jobs_run_from_the_login_node(cluster: Cluster, partition: str) -> None:
    job = f"srun --quiet --partition {partition} --gpus-per-node 2 printenv SLURM_STEP_GPUS"
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
        lambda: worker["InstanceId"] not in lab.instance_ids("adverse", "gpu"), "the replacement"
    )
    wait_until(lambda: succeeds(shell, "grep", "VERSION", "/root/seen"), "the scripts")
    wait_until(lambda: cluster.state(name) == "idle", "the new node")
