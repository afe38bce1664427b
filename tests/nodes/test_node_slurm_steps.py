"""Health checks, SSH, containers and a broken topology, on real nodes with a real Slurm.

pyxis is a plugin with the same name and option, which does nothing.
"""

from __future__ import annotations

import base64
import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from slurmpod.rehearsal.hyperpod.slurm_conf import SLURM_CONF
from slurmpod.rehearsal.shell import Shell
from tests.nodes.conftest import wait_until
from tests.nodes.hyperpod_lab import BUCKET, HyperPodLab, hostname, succeeds
from tests.nodes.test_lifecycle_bundles import customer_group, upload

ENVIRONMENT = """
name: steps
account: "123456789012"
region: us-west-2
network: {{zone: us-west-2a}}
cluster:
  groups:
    - {{name: head, role: controller, instance_type: ml.m5.large}}
    - {{name: gpu, role: worker, instance_type: ml.g5.12xlarge, partition: gpu, count: 2}}
slurm:
  settings: {{Prolog: /usr/bin/true}}
lifecycle:
  health_checks: true
  containers: true
  artefacts:
    - name: pam_slurm_adopt
      url: https://downloads.example.com/pam_slurm_adopt.deb
      sha256: {sha256}
access:
  ssh_between_nodes: true
  ssh_needs_job: true
  users:
    - {{name: alice, uid: 20001, ssh_keys: ["{key}"]}}
    - {{name: root2, uid: 20002, ssh_keys: ["{key}"], admin: true}}
"""
ENTRY = f"cd /tmp/{BUCKET}/steps && bash ./on_create.sh 2>&1"  # HyperPod's path of the scripts
FOLDERS_UNIT = "slurmpod-container-folders"
HANG = r"""
mv /usr/bin/dd /usr/bin/dd.kept
printf '#!/bin/sh\nexec sleep infinity\n' >/usr/bin/dd
chmod 755 /usr/bin/dd
"""
"""A write by the checks hangs, as on storage that does not answer."""

IMAGE_WITH_CONTAINERS = r"""
mkdir -p /usr/local/lib/slurm /etc/enroot
printf '#!/bin/sh\n' >/usr/bin/enroot
printf '#!/bin/sh\n' >/usr/bin/docker
chmod 755 /usr/bin/enroot /usr/bin/docker
cat >/etc/systemd/system/docker.service <<'END'
[Service]
ExecStart=/bin/sh -c 'findmnt -no SOURCE /opt/dlami/nvme >/run/disk-of-docker; sleep infinity'
[Install]
WantedBy=multi-user.target
END
cat >/etc/systemd/system/dlami-nvme.service <<'END'
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'sleep 3; exec mount -t tmpfs volume-of-the-image /opt/dlami/nvme'
[Install]
WantedBy=multi-user.target
END
systemctl enable --quiet --now dlami-nvme
echo SLURMD_OPTIONS=--conf-server=10.255.255.254 >/opt/slurm/etc/default/slurmd # the unit reads it
cat >/tmp/pyxis.c <<'END' # the image's tools make a plugin for the image's Slurm
#include <slurm/spank.h>
SPANK_PLUGIN(pyxis, 1)
static int take(int value, const char *argument, int remote) { return 0; }
static struct spank_option image = {"container-image", "IMAGE", "the image", 1, 0, take};
int slurm_spank_init(spank_t spank, int count, char **arguments)
{
    return spank_option_register(spank, &image);
}
END
library=/usr/local/lib/slurm/spank_pyxis.so
[ -e $library ] ||
    { tcc -shared -o $library /tmp/pyxis.c && patchelf --clear-execstack $library; }
"""
"""Commands that give a node of the rehearsal Docker, enroot and pyxis.

Its NVMe disks are in memory: empty after a reboot, and mounted late in the boot.
"""


class Cluster:
    """A controller and two workers."""

    def __init__(self, lab: HyperPodLab, key: str) -> None:
        self._lab, self._key = lab, key
        self.head = lab.shell("steps", "head", user="root")
        names = sorted(hostname(node) for node in lab.nodes("steps", "gpu"))
        self.workers = [type(self.head)(lab.folder, name, "root") for name in names]
        self.names = names

    def run(self, shell: Shell, command: str) -> str:
        return shell.run(["sh", "-c", f"PATH=/opt/slurm/bin:$PATH; {command} 2>&1 || :"]).strip()

    def state(self, name: str) -> str:
        return self.run(self.head, f"sinfo --noheader --nodes {name} --format '%T|%E' | head -n 1")

    def submit(self, options: str, script: str, user: str = "root") -> str:
        submitted = f"cd /tmp; sbatch --parsable {options} --wrap '{script}'"
        return self.run(self.head, f'runuser -u {user} -- sh -c "{submitted}"')

    def job(self, number: str) -> str:
        words = self.run(self.head, f"scontrol --oneliner show job {number}").split()
        shown = dict(word.split("=", 1) for word in words if "=" in word)
        return f"{shown['JobState']} {shown['Reason']}"

    def reboot(self, name: str) -> None:
        """Let HyperPod reboot a worker."""
        ids = {hostname(node): node["InstanceId"] for node in self._lab.nodes("steps", "gpu")}
        reboot = self._lab.aws.sagemaker.batch_reboot_cluster_nodes
        reboot(ClusterName="steps", NodeIds=[ids[name]])

    def comes_in(self, user: str, name: str) -> str:
        """Log in to a worker from the controller as a user with the key of the environment."""
        self.head.run(["install", "-m", "600", "/dev/stdin", "/root/key"], stdin=self._key)
        options = "-i /root/key -o BatchMode=yes"
        return self.run(self.head, f"ssh {options} {user}@{name} id -un")


IMAGE_WITHOUT_MODULE = """
mkdir -p /var/cache/slurmpod
base64 --decode >/var/cache/slurmpod/{sha256}.deb <<'END'
{package}
END
"""
"""The environment's package of the module was fetched already."""

CONTROL = """\
Package: pam-slurm-adopt-of-ours
Version: 1
Architecture: all
Maintainer: Tests <tests@example.com>
Description: the module alone
"""


def module_as_package(image: Path, folder: Path) -> bytes:
    """Return a Debian package with only the module of the image's Slurm."""
    module = image / "usr/local/lib/pam_slurm_adopt.so"
    inside = folder / "package/usr/lib/security/pam_slurm_adopt.so"
    inside.parent.mkdir(parents=True)
    inside.write_bytes(module.read_bytes())
    control = folder / "package" / "DEBIAN" / "control"
    control.parent.mkdir()
    control.write_text(CONTROL)
    file = folder / "module.deb"
    subprocess.run(["dpkg-deb", "--build", folder / "package", file], check=True)
    return file.read_bytes()


@pytest.fixture(scope="module")
def cluster(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("steps")
    key = folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    public = key.with_suffix(".pub").read_text().strip()
    (folder / "lab").mkdir()
    with HyperPodLab(folder / "lab", image) as lab:
        package = module_as_package(image, folder)
        sha256 = hashlib.sha256(package).hexdigest()
        text = ENVIRONMENT.format(key=public, sha256=sha256)
        without = IMAGE_WITHOUT_MODULE.format(
            sha256=sha256, package=base64.encodebytes(package).decode().strip()
        )
        uri = upload(lab, text, on_create=IMAGE_WITH_CONTAINERS + without)
        workers = {**customer_group("gpu", uri, 2), "InstanceType": "ml.g5.12xlarge"}
        created = lab.create("steps", [customer_group("head", uri), workers])
        assert created.get("FailureMessage") is None
        yield Cluster(lab, key.read_text())


class TestHealthChecks:
    def test_a_bad_worker_drains_itself_and_its_job_waits_for_another(
        self, cluster: Cluster
    ) -> None:
        worker, name = cluster.workers[0], cluster.names[0]
        worker.run(["rm", "/dev/nvidia3"])
        job = cluster.submit(f"--nodelist {name}", "hostname")
        wait_until(lambda: "drained" in cluster.state(name), "the drain")
        assert cluster.state(name) == "drained|slurmpod: 3 of 4 accelerators"
        wait_until(lambda: cluster.job(job) == "PENDING BeginTime", "a job that is not held")
        cluster.run(cluster.head, f"scancel {job}")
        assert cluster.state(cluster.names[1]).startswith("idle|")
        assert cluster.run(cluster.head, "srun --quiet hostname") == cluster.names[1]

    def test_it_takes_jobs_again_when_it_is_good_and_was_drained_by_itself(
        self, cluster: Cluster
    ) -> None:
        worker, name = cluster.workers[0], cluster.names[0]
        resume = "slurmpod-health --resume | sed -n 's/ \\+/ /g; 1p; $p'"
        assert "3 of 4 accelerators" in cluster.run(worker, resume)
        assert cluster.state(name).startswith("drained")
        worker.run(["mknod", "/dev/nvidia3", "c", "1", "3"])
        assert cluster.run(worker, resume).endswith(f"{name} takes jobs again")
        wait_until(lambda: cluster.state(name).startswith("idle|"), "the resumed node")
        change = f"scontrol update nodename={name}"
        cluster.run(cluster.head, f"{change} state=drain reason=mine")
        assert "takes jobs again" not in cluster.run(worker, resume)
        wait_until(lambda: cluster.state(name) == "drained|mine", "the drain by hand")
        cluster.run(cluster.head, f"{change} state=resume")
        wait_until(lambda: cluster.state(name).startswith("idle|"), "the node")

    def test_the_scripts_of_a_good_node_end_a_drain_that_it_has_inherited(
        self, cluster: Cluster
    ) -> None:
        worker, name = cluster.workers[0], cluster.names[0]
        drain = (
            f"scontrol update nodename={name} state=drain reason='slurmpod: 3 of 4 accelerators'"
        )
        cluster.run(cluster.head, drain)
        wait_until(lambda: "drained" in cluster.state(name), "the drain")
        assert "back_in_service: done" in cluster.run(worker, ENTRY)
        wait_until(lambda: cluster.state(name).startswith("idle|"), "the node")

    def test_a_fault_of_all_nodes_leaves_half_of_the_partition(self, cluster: Cluster) -> None:
        first, second = cluster.names
        for worker in cluster.workers:
            worker.run(["rm", "/dev/nvidia3"])
        try:
            cluster.submit(f"--nodelist {first}", "hostname")
            wait_until(lambda: "drained" in cluster.state(first), "the drain")
            cluster.run(cluster.head, "scancel --user root")
            job = cluster.submit(f"--nodelist {second}", "hostname")
            wait_until(lambda: self.ends(cluster, job, second), "a job on the other half")
            said = cluster.run(cluster.workers[1], "journalctl --quiet -t slurmpod-health -o cat")
            assert f"{second} goes on, as half of its partition has drained itself" in said
            assert not cluster.state(second).startswith("drain")
        finally:
            for worker in cluster.workers:
                worker.run(["mknod", "/dev/nvidia3", "c", "1", "3"])
        cluster.run(cluster.workers[0], "slurmpod-health --resume")
        wait_until(lambda: cluster.state(first).startswith("idle|"), "the resumed node")

    def ends(self, cluster: Cluster, job: str, name: str) -> bool:
        """Return whether a job has ended on the second worker.

        Where Slurm answers too late, as on a machine that has much else to do, the worker stays
        drained until its next check.
        """
        if cluster.state(name).startswith("drain"):
            cluster.run(cluster.workers[1], "slurmpod-health --epilog")
        return cluster.job(job).startswith("COMPLETED")

    def test_shared_storage_that_hangs_is_reported_and_drains_nobody(
        self, cluster: Cluster
    ) -> None:
        worker, name = cluster.workers[0], cluster.names[0]
        worker.run(["sh", "-c", HANG])
        try:
            wait_until(lambda: self.a_job_reports(cluster, name), "checks that are not given up")
        finally:
            worker.run(["mv", "/usr/bin/dd.kept", "/usr/bin/dd"])
        assert not cluster.state(name).startswith("drain")

    def a_job_reports(self, cluster: Cluster, name: str) -> bool:
        """Return whether the checks before a running job have reported the storage.

        They are given up if they take too long, as on a machine that was suspended meanwhile.
        """
        assert cluster.run(cluster.head, f"srun --quiet -w {name} hostname") == name
        said = cluster.run(cluster.workers[0], "journalctl --quiet -t slurmpod-health -o cat")
        return "shared /fsx is reported: /fsx cannot be written: no answer within 2 s" in said

    def test_a_shared_folder_that_is_not_mounted_is_the_nodes_own_fault(
        self, cluster: Cluster
    ) -> None:
        worker, name = cluster.workers[0], cluster.names[0]
        unmount = "umount /fsx && echo gone"  # not while checks after an earlier job are in there
        wait_until(lambda: cluster.run(worker, unmount) == "gone", "the end of the mount")
        cluster.submit(f"--nodelist {name}", "hostname")
        wait_until(lambda: "drained" in cluster.state(name), "the drain")
        assert cluster.state(name) == "drained|slurmpod: /fsx is not mounted"
        cluster.run(cluster.head, "scancel --user root")
        cluster.run(worker, "mount /fsx; slurmpod-health --resume")
        wait_until(lambda: cluster.state(name).startswith("idle|"), "the resumed node")

    def test_the_users_own_prolog_stays(self, cluster: Cluster) -> None:
        shown = cluster.run(cluster.head, "scontrol show config | grep '^Prolog.*=' | tr -d ' '")
        assert {"Prolog[0]=/usr/bin/true", "Prolog[1]=/usr/bin/tru[eP]"} <= set(shown.splitlines())

    def test_a_partition_that_comes_later_is_there_though_nobody_reconfigures(
        self, cluster: Cluster
    ) -> None:
        line = f"PartitionName=late Nodes={cluster.names[0]}"
        cluster.run(cluster.head, f"echo {line} >>/opt/slurm/etc/slurm.conf")
        shown = "sinfo --noheader --partition late --format %N"
        wait_until(lambda: cluster.run(cluster.head, shown) == cluster.names[0], "the partition")

    def test_jobs_may_ask_for_gpus_though_slurm_conf_declared_none(self, cluster: Cluster) -> None:
        count = "srun --quiet --gres=gpu:4 printenv CUDA_VISIBLE_DEVICES"
        assert cluster.run(cluster.head, count) == "0,1,2,3"

    def test_a_node_that_slurm_counted_while_slurm_conf_was_rewritten_takes_jobs_again(
        self, cluster: Cluster
    ) -> None:
        """Slurm rarely drains it by itself: the test does so instead."""
        name = cluster.names[0]
        cluster.run(cluster.head, f"sed -i /^GresTypes/d {SLURM_CONF} && scontrol reconfigure")
        declared = "scontrol show config | sed -n 's/^GresTypes *= //p'"
        wait_until(lambda: cluster.run(cluster.head, declared) == "gpu", "GPUs in slurm.conf")
        reason = "gres/gpu count reported lower than configured (0 < 4)"
        drain = f"scontrol update nodename={name} state=drain reason='{reason}'"
        cluster.run(cluster.head, drain)
        wait_until(lambda: cluster.state(name).startswith("idle|"), "the node")


class TestSsh:
    def test_the_images_user_goes_everywhere_and_is_asked_nothing(self, cluster: Cluster) -> None:
        first, second = cluster.names
        as_ubuntu = "runuser -u ubuntu -- ssh -o BatchMode=yes"
        assert cluster.run(cluster.head, f"{as_ubuntu} {first} hostname") == first
        assert cluster.run(cluster.workers[0], f"{as_ubuntu} {second} hostname") == second

    def test_a_replaced_nodes_new_host_key_is_known_at_once(self, cluster: Cluster) -> None:
        worker, name = cluster.workers[0], cluster.names[0]
        cluster.run(worker, "rm /etc/ssh/ssh_host_*; ssh-keygen -A; systemctl restart ssh")
        as_ubuntu = f"runuser -u ubuntu -- ssh -o BatchMode=yes {name} hostname"
        assert "Host key verification failed" in cluster.run(cluster.head, as_ubuntu)
        assert "OK: worker" in cluster.run(worker, ENTRY).splitlines()[-1]
        assert cluster.run(cluster.head, as_ubuntu) == name

    def test_users_need_a_job_and_administrators_do_not(self, cluster: Cluster) -> None:
        name = cluster.names[0]
        package = "dpkg-query --search pam_slurm_adopt.so | cut -d : -f 1"
        assert cluster.run(cluster.workers[0], package) == "pam-slurm-adopt-of-ours"
        assert "you have no active jobs on this node" in cluster.comes_in("alice", name)
        assert cluster.comes_in("root2", name) == "root2"
        job = cluster.submit(f"--nodelist {name}", "sleep 60", user="alice")
        wait_until(lambda: cluster.comes_in("alice", name) == "alice", "the job's own step")
        cluster.run(cluster.head, f"scancel {job}")
        wait_until(lambda: "no active jobs" in cluster.comes_in("alice", name), "the closed door")


class TestContainers:
    def test_every_node_knows_the_option_once(self, cluster: Cluster) -> None:
        for shell in (cluster.head, *cluster.workers):
            assert cluster.run(shell, "srun --help | grep -c container-image") == "1"
        ran = cluster.run(cluster.head, "srun --quiet --nodes 2 --container-image=x true")
        assert ran == ""

    def test_a_docker_that_goes_on_with_older_files_is_started_again(
        self, cluster: Cluster
    ) -> None:
        worker, step = cluster.workers[1], "sed -n 's/.* docker: \\([a-z ]*\\) in .*/\\1/p'"
        which_run = "systemctl show --property=InvocationID --value docker"
        before = worker.run(["tee", "/run/slurmpod/docker"], stdin=cluster.run(worker, which_run))
        assert cluster.run(worker, f"{ENTRY} | {step}") == "done"
        assert cluster.run(worker, which_run) != before
        assert cluster.run(worker, f"{ENTRY} | {step}") == "already done"

    def test_after_a_reboot_all_is_on_the_disk_that_is_empty_now(self, cluster: Cluster) -> None:
        worker, folder = cluster.workers[1], "/opt/dlami/nvme/enroot/data"
        worker.run(["touch", f"{folder}/before", "/run/before"])
        cluster.reboot(cluster.names[1])
        wait_until(lambda: succeeds(worker, "test", "!", "-e", "/run/before"), "the reboot")
        wait_until(lambda: succeeds(worker, "test", "-s", "/run/disk-of-docker"), "Docker")
        assert worker.run(["cat", "/run/disk-of-docker"]) == "volume-of-the-image"
        assert worker.run(["findmnt", "-no", "SOURCE", "-T", folder]) == "volume-of-the-image"
        assert worker.run(["stat", "--format=%a", folder]) == "1777"
        assert worker.run(["ls", folder]) == ""
        is_up = f"systemctl show --property=ActiveEnterTimestampMonotonic --value {FOLDERS_UNIT}"
        begins = "systemctl show --property=InactiveExitTimestampMonotonic --value slurmd"
        wait_until(lambda: cluster.state(cluster.names[1]).startswith("idle|"), "slurmd")
        assert 0 < int(cluster.run(worker, is_up)) <= int(cluster.run(worker, begins))

    def test_what_slurm_holds_down_for_a_reboot_is_resumed_and_what_somebody_set_down_is_not(
        self, cluster: Cluster
    ) -> None:
        worker, name = cluster.workers[0], cluster.names[0]
        change = f"scontrol update nodename={name}"
        cluster.run(cluster.head, f"{change} state=down reason='Node unexpectedly rebooted'")
        wait_until(lambda: cluster.state(name).startswith("idle|"), "the timer's resume")
        told = "journalctl --output cat --unit slurmpod-returned-nodes"
        assert f"back, and taking jobs again: {name}" in cluster.run(cluster.head, told)
        cluster.run(cluster.head, f"{change} state=down reason=mine")
        ran = cluster.run(worker, ENTRY).splitlines()
        assert "FAILED: Slurm holds this node down, reason: mine" in ran[-1]
        assert cluster.state(name) == "down|mine"
        cluster.run(cluster.head, f"{change} state=resume")


class TestTopology:
    """Last: it restarts slurmctld."""

    NAMED = "TopologyPlugin=topology/tree"

    def plugin(self, cluster: Cluster) -> str:
        restart = "systemctl restart slurmctld"
        ask = "scontrol show config | sed -n 's,^TopologyPlugin *= ,,p'"
        cluster.run(cluster.head, restart)
        wait_until(lambda: " is UP" in cluster.run(cluster.head, "scontrol ping"), "slurmctld")
        return cluster.run(cluster.head, ask)

    def test_a_plugin_without_a_description_is_left_out_until_there_is_one(
        self, cluster: Cluster
    ) -> None:
        etc = "/opt/slurm/etc"
        cluster.run(cluster.head, f"echo {self.NAMED} >>{etc}/slurm.conf; : >{etc}/topology.conf")
        assert self.plugin(cluster) != "topology/tree"
        job = cluster.submit("--nodes 2", "srun true")
        wait_until(lambda: cluster.job(job).startswith("COMPLETED"), "a job on both")
        nodes = ",".join(cluster.names)
        cluster.run(cluster.head, f"echo SwitchName=s0 Nodes={nodes} >{etc}/topology.conf")
        assert self.plugin(cluster) == "topology/tree"
