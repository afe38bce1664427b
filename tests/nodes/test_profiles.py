"""Our lifecycle scripts on nodes of other profiles than the default one, all at once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slurmpod.platform_profiles.loading import built_in
from slurmpod.rehearsal.shell import Shell
from tests.nodes import test_auto_resume, test_lifecycle_bundles
from tests.nodes.conftest import wait_until
from tests.nodes.hyperpod_lab import KEEPER_STATE, HyperPodLab, hostname, succeeds
from tests.nodes.test_health_agent import SECONDS_OF_SLURM
from tests.nodes.test_lifecycle_bundles import customer_group, upload

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
    "accounting-included",
    "apt-locked",
    "docker-there",
    "late-nodes",
    "login-unlisted",
    "metadata-tags",
    "mounted-by-hyperpod",
    "no-mariadb",
    "old-scripts",
    "options-in-etc",
    "overwritten",
    "own-disk",
    "own-name-unknown",
    "pam-slurm-adopt-there",
    "shared-dev",
)
"""Each changes a different property of a node, so that one cluster has them all. Other adverse
properties are defaults: ReturnToService=1, no GresTypes, four attempts at an update."""

ELSEWHERE = (*test_lifecycle_bundles.PROFILES, *test_auto_resume.PROFILES)
"""The profiles of other tests."""

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
"""The entry script's state at its start; 6 is LOCK_EX | LOCK_NB."""

ARCHIVE = r"""
cat >/usr/local/sbin/apt-get <<'APT'
#!/bin/sh
case "$*" in *" mariadb-server") ;; *) exit ;; esac
case "$*" in *DPkg::Lock::Timeout=*) mode=2 ;; *) mode=6 ;; esac
python3 -c "import fcntl; fcntl.lockf(open('/var/lib/dpkg/lock-frontend', 'w'), $mode)" || exit 100
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
"""Replaces Ubuntu's archive, which nodes do not reach: it installs MariaDB again.

Like apt it waits for the lock only with the option for it.
"""

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
        """Change the number of workers."""
        self._groups[-1]["InstanceCount"] = count
        changed = self.lab.update("adverse", self._groups)
        assert changed.get("FailureMessage") is None


def scripts(lab: HyperPodLab, version: str) -> str:
    """Return the first commands of the entry script."""
    return LOOK.replace("VERSION", version) + FAILS.format(source=lab.lustre_source) + ARCHIVE


@pytest.fixture(scope="module")
def cluster(newer_image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("adverse")
    (folder / "shorter.yaml").write_text(SHORTER)
    (folder / "lab").mkdir()
    profiles = (*PROFILES, str(folder / "shorter.yaml"))
    with HyperPodLab(folder / "lab", newer_image, profiles) as lab:
        uri = upload(lab, ENVIRONMENT, on_create=scripts(lab, "first"))
        workers = {**customer_group("gpu", uri), "InstanceType": "ml.g5.12xlarge"}
        groups = [customer_group("head", uri), customer_group("login", uri), workers]
        created = lab.create("adverse", groups, Tags=[{"Key": "team", "Value": "vision"}])
        assert created.get("FailureMessage") is None
        yield Cluster(lab, groups)


def test_each_profile_is_booted_somewhere() -> None:
    assert {*PROFILES, *ELSEWHERE} == {*built_in()}


def test_the_nodes_are_those_of_the_profiles(cluster: Cluster) -> None:
    assert cluster.parameter("ReturnToService") == "1"
    assert "OverSubscribe=NO" in cluster.run(cluster.head, "scontrol show partition dev")
    for group in ("head", "login", "gpu"):
        seen = cluster.run(cluster.lab.shell("adverse", group, user="root"), "cat /root/seen")
        assert seen.splitlines() == ["no name", "locked", "first"], group
    assert cluster.run(cluster.head, "find /usr/lib/systemd -name mariadb.service") == ""
    assert cluster.run(cluster.login, "findmnt -no TARGET /fsx") == "/fsx"
    assert cluster.run(cluster.login, "grep -c ' /fsx ' /etc/fstab") == "1"


def test_the_image_is_the_newer_one(cluster: Cluster) -> None:
    for group in ("head", "login", "gpu"):
        root = cluster.lab.shell("adverse", group, user="root")
        assert cluster.run(root, "readlink -f /opt/slurm") == "/opt/slurm-25.11"
        assert cluster.run(root, "sinfo --version").startswith("slurm-wlm 26.05.")
        assert "dev ens5" in cluster.run(root, "ip route show default")
        assert cluster.run(root, "findmnt -no SOURCE /opt/sagemaker") == "/dev/nvme1n1"
        unit = "slurmctld" if group == "head" else "slurmd"
        shown = cluster.run(root, f"systemctl show --property EnvironmentFiles {unit}")
        assert f"/etc/default/{unit}" in shown.split("=", 1)[1].split()
    records = cluster.run(cluster.head, "cat /var/log/slurm/slurmdbd.log")
    assert "slurmdbd version 26.05." in records
    assert "innodb_snapshot_isolation" not in records
    name = hostname(cluster.lab.nodes("adverse", "gpu")[0])
    switches = cluster.run(cluster.head, "scontrol show topology")
    assert "SwitchName=nn-424c Level=0" in switches
    assert name in switches
    assert cluster.run(cluster.head, "grep -c spank_pyxis /opt/slurm/etc/plugstack.conf") == "1"
    assert cluster.run(cluster.login, "srun --quiet --container-image x hostname")
    assert cluster.run(root, "systemctl is-active docker") == "active"


def test_a_step_that_may_be_resumed_runs_with_the_newer_slurm(cluster: Cluster) -> None:
    job = "salloc --quiet --partition gpu srun --quiet --auto-resume=1 echo ran"
    assert [cluster.run(cluster.login, job) for _ in range(3)] == ["ran"] * 3


def test_instance_metadata_have_the_tags_of_the_cluster(cluster: Cluster) -> None:
    token = "X-aws-ec2-metadata-token"
    metadata = "http://169.254.169.254/latest"
    asked = f"curl -s -X PUT -H '{token}-ttl-seconds: 60' {metadata}/api/token"
    tag = f'curl -s -H "{token}: $({asked})" {metadata}/meta-data/tags/instance/team'
    assert cluster.run(cluster.login, tag) == "vision"


@pytest.mark.parametrize("partition", ["dev", "gpu"])
def test_jobs_run_from_a_login_node_that_slurm_does_not_list(
    cluster: Cluster, partition: str
) -> None:
    job = f"srun --quiet --partition {partition} --gpus-per-node 2 printenv SLURM_STEP_GPUS"
    assert cluster.run(cluster.login, job) == "0,1"
    assert_in_service(cluster)


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
    cluster.workers(1)


def test_the_fourth_attempt_at_an_update_of_the_software_is_the_last(cluster: Cluster) -> None:
    lab = cluster.lab
    left = next((lab.folder / "file_systems").iterdir()) / "left"
    left.write_text(f"{ATTEMPTS_THAT_FAIL}\n")
    lab.aws.sagemaker.update_cluster_software(
        ClusterName="adverse", InstanceGroups=[{"InstanceGroupName": "gpu"}]
    )
    assert lab.settled("adverse").get("FailureMessage") is None
    assert left.read_text() == "0\n"
    assert_in_service(cluster)


def test_a_replaced_node_is_in_service_with_the_scripts_of_before(cluster: Cluster) -> None:
    lab = cluster.lab
    upload(lab, ENVIRONMENT, on_create=scripts(lab, "newer"))
    worker = lab.nodes("adverse", "gpu")[0]
    name = hostname(worker)
    replace = lab.aws.sagemaker.batch_replace_cluster_nodes
    replace(ClusterName="adverse", NodeIds=[worker["InstanceId"]])
    wait_until(lambda: runs_in_place_of(lab, worker["InstanceId"]), "the replacement")
    shell = Shell(lab.folder, name, "root")
    assert cluster.run(shell, "grep -c first /root/seen") == "1"
    assert_in_service(cluster)


def runs_in_place_of(lab: HyperPodLab, instance_id: str) -> bool:
    """Return whether another worker than that one has ended its scripts."""
    listed = lab.aws.sagemaker.list_cluster_nodes(
        ClusterName="adverse", InstanceGroupNameContains="gpu"
    )["ClusterNodeSummaries"]
    return all(
        node["InstanceId"] != instance_id and node["InstanceStatus"]["Status"] == "Running"
        for node in listed
    )


def test_a_node_that_rebooted_by_itself_takes_jobs_again(cluster: Cluster) -> None:
    """slurmctld keeps it down with a reason; our timer resumes it."""
    wait_until(
        lambda: cluster.run(cluster.head, KEEPER_STATE) == "inactive", "the end of all changes"
    )
    assert any(is_told_after_a_boot(cluster) for _ in range(3))
    assert_in_service(cluster)


def is_told_after_a_boot(cluster: Cluster) -> bool:
    """Let the worker reboot itself; return whether slurmctld noticed (see test_health_agent)."""
    worker = cluster.lab.shell("adverse", "gpu", user="root")
    started = f"scontrol --oneliner show node {worker.hostname} | grep -o 'SlurmdStartTime=[^ ]*'"
    said = f"grep -c 'Node {worker.hostname} unexpectedly rebooted' /var/log/slurm/slurmctld.log"
    before, said_before = (cluster.run(cluster.head, asked) for asked in (started, said))
    time.sleep(SECONDS_OF_SLURM)
    succeeds(worker, "systemctl", "reboot")
    wait_until(lambda: cluster.run(cluster.head, started) != before, "its new slurmd")
    return cluster.run(cluster.head, said) != said_before


def assert_in_service(cluster: Cluster) -> None:
    """Fail unless the only worker is soon idle, alone in Slurm, and gives a job its GPUs."""
    name = hostname(cluster.lab.nodes("adverse", "gpu")[0])
    wait_until(lambda: cluster.state(name) == "idle", "the worker")
    assert cluster.run(cluster.login, "sinfo --noheader --format %n | sort -u") == name
    job = "srun --quiet --partition gpu --gpus-per-node 4 printenv SLURM_STEP_GPUS"
    assert cluster.run(cluster.login, job) == "0,1,2,3"
