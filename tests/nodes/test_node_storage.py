"""The scripts' setup of a node's disks, logs and messages, on real nodes.

Nodes of a rehearsal have no block devices. So a file system in memory replaces the volume that Deep
Learning AMIs make of the disks; for a volume of our own one script replaces lsblk, LVM, mkfs and
mount. Their arguments are real, their effects are not.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slurmpod.rehearsal.shell import CommandFailed, Shell
from tests.golden_files import ROOT
from tests.nodes import silent_folder
from tests.nodes.conftest import wait_until
from tests.nodes.hyperpod_lab import BUCKET, SLURM, HyperPodLab, group, succeeds
from tests.nodes.test_lifecycle_bundles import by_api, upload

ENVIRONMENT = """
edition: 2026
name: disks
account: "123456789012"
region: us-west-2
network: {zone: us-west-2a}
storage: {scratch: {}}
lifecycle: {motd: true}
cluster:
  groups:
    - {name: head, role: controller, instance_type: ml.m5.large}
    - {name: cpu, role: worker, instance_type: ml.i3en.large, partition: cpu}
"""
LIKE_THE_IMAGE = r"""
cat >/etc/systemd/system/dlami-nvme.service <<'UNIT'
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=mount -t tmpfs volume-of-the-image /opt/dlami/nvme
[Install]
WantedBy=multi-user.target
UNIT
systemctl enable --quiet dlami-nvme
workers='.InstanceGroups[] | select(.Name == "cpu") | .Instances[].CustomerIpAddress'
address=$(jq -r "$workers" "$SAGEMAKER_RESOURCE_CONFIG_PATH")
if [ "$(hostname)" = "ip-$(echo "$address" | tr . -)" ]; then rm /etc/logrotate.d/slurm*; fi
"""
"""The service of Deep Learning AMIs; and no rotation of Slurm's logs on the worker, which is in
Debian's packages but not in HyperPod's Slurm."""

TOOLS = r"""
mkdir /root/tools
cat >/root/tools/lsblk <<'TOOL'
#!/bin/sh
name=$(basename "$0")
echo "$name $*" >>/root/tools/log
case "$name $*" in
    lsblk*) cat /root/tools/disks.json ;;
    vgs*pv_count*) echo '  2' ;;
    vgs* | lvs* | blkid*) exit 5 ;;
    mount*) exec /usr/bin/mount -t tmpfs "$3" "$4" ;;
esac
TOOL
chmod 755 /root/tools/lsblk
for tool in vgs vgcreate vgchange lvs lvcreate blkid mkfs mount; do
    ln -s lsblk /root/tools/$tool
done
"""
LET_UBUNTU_IN = """
ssh-keygen -q -A && ssh-keygen -q -t ed25519 -N '' -f /root/key && systemctl start ssh &&
    install -D -o ubuntu -m 600 /root/key.pub ~ubuntu/.ssh/authorized_keys
"""
SCRIPTS = ROOT / "lifecycle_scripts"
INSTANCE_STORE = "Amazon EC2 NVMe Instance Storage"


@pytest.fixture(scope="module")
def lab(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HyperPodLab]:
    with HyperPodLab(tmp_path_factory.mktemp("lab"), image) as lab:
        common = by_api(lab, upload(lab, ENVIRONMENT, on_init_complete=LIKE_THE_IMAGE))
        worker = group("cpu", "Compute", **common, InstanceType="ml.i3en.large")
        lab.create_continuously("disks", [group("head", "Controller", **common), worker])
        yield lab


@pytest.fixture(scope="module")
def worker(lab: HyperPodLab) -> Shell:
    return lab.shell("disks", "cpu", user="root")


def test_the_report_says_what_the_image_is(worker: Shell) -> None:
    report = json.loads(worker.run(["cat", "/var/log/provision/report.json"]))
    facts = report["image"]
    assert facts["os"].startswith("Debian GNU/Linux ")
    assert f"/opt/{facts['slurm']}" == SLURM
    assert facts["kernel"] == worker.run(["uname", "-r"])
    assert facts["nvidia_driver"] is None


def test_everybody_may_write_to_the_volume_of_the_image(lab: HyperPodLab, worker: Shell) -> None:
    assert worker.run(["findmnt", "-no", "SOURCE", "/scratch"]) == "volume-of-the-image[/scratch]"
    assert worker.run(["stat", "--format=%a", "/scratch"]) == "1777"
    lab.shell("disks", "cpu").run(["touch", "/scratch/of-ubuntu"])
    head = lab.shell("disks", "head")
    assert head.run(["sh", "-c", "test -e /scratch || echo none"]) == "none"


def test_running_the_scripts_again_finds_all_done(worker: Shell) -> None:
    script = f"/tmp/{BUCKET}/disks/set_up_node.sh"  # noqa: S108  # HyperPod's path
    said = worker.run(["env", "-u", "HOME", "bash", script])
    for step in ("image_facts", "scratch", "motd", "log_rotation"):
        assert f" {step}: already done" in said


def test_logs_are_rotated_and_daemons_go_on_writing(lab: HyperPodLab, worker: Shell) -> None:
    log = "/var/log/slurm/slurmd.log"
    worker.run(["logrotate", "--force", "/etc/logrotate.d/slurmpod"])
    assert worker.run(["test", "-s", f"{log}.1"]) == ""
    worker.run(["sh", "-c", "srun true || true"])
    wait_until(lambda: bool(worker.run(["sh", "-c", f"cat {log}"])), "lines in the new file")
    worker.run(["test", "-s", "/var/log/provision/provisioning.log.1"])


@pytest.mark.parametrize(("name", "is_ours"), [("head", False), ("cpu", True)])
def test_no_log_is_rotated_by_two(lab: HyperPodLab, name: str, *, is_ours: bool) -> None:
    root = lab.shell("disks", name, user="root")
    said = root.run(["sh", "-c", "logrotate --debug /etc/logrotate.conf 2>&1"])
    assert "error" not in said
    ours = root.run(["cat", "/etc/logrotate.d/slurmpod"])
    assert ("/var/log/slurm/*.log" in ours) is is_ours


def test_the_message_is_shown_at_login(worker: Shell) -> None:
    worker.run(["sh", "-c", LET_UBUNTU_IN])
    options = ("-i", "/root/key", "-o", "StrictHostKeyChecking=no")
    said = worker.run(["ssh", "-tt", *options, "ubuntu@localhost"], stdin="exit\n")
    assert "Cluster disks: ip-" in said
    assert "/scratch" in said


def test_the_volume_is_there_after_a_reboot(lab: HyperPodLab, worker: Shell) -> None:
    worker.run(["touch", "/run/before"])
    node_id = lab.nodes("disks", "cpu")[0]["InstanceId"]
    lab.aws.sagemaker.batch_reboot_cluster_nodes(ClusterName="disks", NodeIds=[node_id])
    wait_until(lambda: succeeds(worker, "test", "!", "-e", "/run/before"), "the reboot")
    wait_until(lambda: succeeds(worker, "mountpoint", "--quiet", "/scratch"), "the volume")
    assert worker.run(["stat", "--format=%a", "/scratch"]) == "1777"
    worker.run(["systemctl", "is-active", "--quiet", "slurmpod-scratch"])


class TestOwnVolume:
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _tools(cls, worker: Shell) -> None:
        worker.run(["sh", "-c", TOOLS])

    def test_the_program_stands_alone_and_asks_for_one_striped_volume(self, worker: Shell) -> None:
        _show(worker, _disk("/dev/nvme1n1"), _disk("/dev/nvme2n1"))
        assert _make(worker, "/own") == "this node's disks are at /own"
        assert [
            line.split()[0] for line in worker.run(["cat", "/root/tools/log"]).splitlines()
        ] == [
            "vgs",
            "lsblk",
            "vgcreate",
            "lvs",
            "vgs",
            "lvcreate",
            "vgchange",
            "blkid",
            "mkfs",
            "mount",
        ]
        assert worker.run(["stat", "--format=%a", "/own"]) == "1777"

    def test_disks_in_use_are_left_alone(self, worker: Shell) -> None:
        _show(
            worker, _disk("/dev/nvme1n1", fstype="xfs"), _disk("/dev/nvme0n1", model="Amazon EBS")
        )
        with pytest.raises(
            CommandFailed, match="all instance-store disks are in use: /dev/nvme1n1"
        ):
            _make(worker, "/other")
        assert "vgcreate" not in worker.run(["cat", "/root/tools/log"])


class TestBucket:
    """A FUSE server that answers nothing replaces Mountpoint: all that matters is that it dies."""

    @pytest.fixture(scope="class")
    @classmethod
    def unit(cls, worker: Shell) -> str:
        worker.run(
            ["tee", "/root/silent_folder.py"], stdin=Path(silent_folder.__file__).read_text()
        )
        text = subprocess.check_output([sys.executable, "-c", UNIT], cwd=SCRIPTS, text=True)
        worker.run(["tee", "/etc/systemd/system/slurmpod-s3-bucket.service"], stdin=text)
        worker.run(["sh", "-c", MOUNTPOINT])
        return "slurmpod-s3-bucket"

    def test_is_a_folder_again_after_mountpoint_died(self, worker: Shell, unit: str) -> None:
        first = _main_process(worker, unit)
        worker.run(["kill", "-KILL", first])
        wait_until(lambda: _main_process(worker, unit) not in {first, "0"}, "another Mountpoint")
        wait_until(lambda: succeeds(worker, "systemctl", "is-active", unit), "its mount")
        mounts = worker.run(["cat", "/proc/self/mounts"]).splitlines()
        assert [line.split()[1] for line in mounts].count("/bucket") == 1
        worker.run(["systemctl", "stop", unit])
        assert " /bucket " not in worker.run(["cat", "/proc/self/mounts"])


MOUNTPOINT = r"""
[ -e /dev/fuse ] || mknod /dev/fuse c 10 229
cat >/usr/bin/mount-s3 <<'TOOL'
#!/bin/sh
for folder; do :; done
[ -d "$folder" ] || exit 1
python3 /root/silent_folder.py "$folder" >/dev/null &
until grep -q " $folder fuse " /proc/self/mounts; do kill -0 $! || exit 1; sleep 0.1; done
TOOL
chmod 755 /usr/bin/mount-s3
mkdir /bucket
systemctl start slurmpod-s3-bucket
"""
UNIT = """
from slurmpod_lifecycle.settings import S3Mount
from slurmpod_lifecycle.steps.mount_s3 import service
print(service(S3Mount("bucket", None, "/bucket", True, None)))
"""


def _main_process(worker: Shell, unit: str) -> str:
    return worker.run(["systemctl", "show", "--property=MainPID", "--value", unit])


def _disk(path: str, *, model: str = INSTANCE_STORE, fstype: str | None = None) -> dict[str, Any]:
    return {"path": path, "model": model, "fstype": fstype, "mountpoint": None}


def _show(worker: Shell, *disks: dict[str, Any]) -> None:
    """Let lsblk show these disks, without earlier records."""
    text = json.dumps({"blockdevices": disks})
    worker.run(["tee", "/root/tools/disks.json"], stdin=text)
    worker.run(["rm", "-f", "/root/tools/log"])


def _make(worker: Shell, folder: str) -> str:
    """Run the program installed on the node, without the volume of the image."""
    script = (
        "umount --lazy /opt/dlami/nvme 2>/dev/null; cd /usr/local/lib/slurmpod/boot &&"
        f" PATH=/root/tools:$PATH python3 -m slurmpod_lifecycle.scratch_volume {folder}"
    )
    return worker.run(["sh", "-c", script])
