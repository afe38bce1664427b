"""Buckets as folders, by a service of Mountpoint for Amazon S3."""

from __future__ import annotations

import configparser
import shlex
from dataclasses import replace

import pytest

from slurmpod_lifecycle.settings import Artefact, Role, S3Mount
from slurmpod_lifecycle.step import NotYet, StepFailed
from slurmpod_lifecycle.steps.mount_s3 import MountS3, service
from tests.pure.lifecycle.fakes import BUCKET, NODE_OPTIONS, machine_of, node

UNIT = "/etc/systemd/system/slurmpod-s3-data.service"
MOUNTS = "/proc/self/mounts"


@pytest.fixture
def step() -> MountS3:
    step = MountS3(node(Role.WORKER, s3_mounts=(BUCKET,)))
    machine_of(step.node).reply("systemd-escape --path /data", "data\n")
    return step


def start_command(mount: S3Mount) -> list[str]:
    """Return the words of ExecStart, as systemd would split them."""
    unit = configparser.ConfigParser(interpolation=None)
    unit.read_string(service(mount))
    return shlex.split(unit["Service"]["ExecStart"])


def test_the_bucket_is_mounted_by_a_service_that_survives_a_reboot(step: MountS3) -> None:
    machine = machine_of(step.node)
    machine.files[MOUNTS] += "mountpoint-s3 /data fuse rw 0 0\n"
    assert not step.is_done()
    assert step.apply() == "mounted training-data at /data"
    assert machine.did("env SYSTEMD_OFFLINE=1 systemctl enable --quiet slurmpod-s3-data")
    assert "WantedBy=" in machine.files[UNIT]
    assert step.is_done()


def test_a_node_without_mountpoint_says_so_at_once(step: MountS3) -> None:
    machine_of(step.node).fail("test -x /usr/bin/mount-s3")
    with pytest.raises(StepFailed, match="Mountpoint for Amazon S3 is not on this node") as failure:
        step.apply()
    assert not isinstance(failure.value, NotYet)
    assert "image_id" in failure.value.fix
    assert "lifecycle.artefacts (mount_s3)" in failure.value.fix


def test_a_node_without_mountpoint_gets_the_environments_own() -> None:
    artefact = Artefact("mount_s3", "x86_64", "https://example.com/m.deb", "0" * 64, "s3://b/m")
    step = MountS3(
        node(
            Role.WORKER,
            s3_mounts=(BUCKET,),
            node=replace(
                NODE_OPTIONS,
                instance_types={"hands": ("ml.m5.large",)},
                artefacts=(artefact,),
            ),
        )
    )
    machine = machine_of(step.node)
    machine.fail("test -x /usr/bin/mount-s3")
    machine.reply("uname", "x86_64\n")
    machine.reply("sha256sum", f"{artefact.sha256}  file\n")
    machine.files[MOUNTS] += "mountpoint-s3 /data fuse rw 0 0\n"
    assert step.apply() == "mounted training-data at /data"
    assert any(f"{artefact.sha256}.deb" in line and " install " in line for line in machine.ran)


def test_a_service_of_yesterday_stops_before_its_file_changes(step: MountS3) -> None:
    machine = machine_of(step.node)
    machine.files[MOUNTS] += "mountpoint-s3 /data fuse rw 0 0\n"
    machine.files[UNIT] = "of yesterday"
    step.apply()
    changes = [line for line in machine.ran if line.startswith("systemctl")]
    assert changes[0] == "systemctl stop slurmpod-s3-data"
    assert changes[-1] == "systemctl start slurmpod-s3-data"
    machine.ran = []
    step.apply()
    assert not machine.did("systemctl stop")


def test_what_a_dead_mountpoint_left_is_taken_away_first(step: MountS3) -> None:
    machine = machine_of(step.node)
    machine.files[MOUNTS] += "mountpoint-s3 /data fuse rw 0 0\n"
    machine.fail("test -d /data")  # Transport endpoint is not connected
    step.apply()
    order = ["umount --lazy /data", "mkdir -p /data", "systemctl start slurmpod-s3-data"]
    assert [line for line in machine.ran if line in order] == order


def test_what_is_mounted_and_answers_stays(step: MountS3) -> None:
    machine = machine_of(step.node)
    machine.files[MOUNTS] += "mountpoint-s3 /data fuse rw 0 0\n"
    step.apply()
    assert not machine.did("umount")


def test_a_bucket_that_cannot_be_listed_is_told_in_the_words_of_mountpoint(step: MountS3) -> None:
    machine_of(step.node).reply("journalctl", "Error: Forbidden: Access Denied\n")
    with pytest.raises(NotYet, match="nothing is mounted at /data: Error: Forbidden"):
        step.apply()


def test_a_node_is_in_service_without_it() -> None:
    assert not MountS3.required
    assert not MountS3.applies_to(node(Role.WORKER))


def test_all_users_may_read_and_nobody_writes_unless_asked() -> None:
    assert start_command(BUCKET) == [
        "/usr/bin/mount-s3",
        "--allow-other",
        "--read-only",
        "training-data",
        "/data",
    ]
    assert "--read-only" not in start_command(replace(BUCKET, read_only=False))


def test_prefix_and_key_are_passed_on_as_they_are() -> None:
    mount = replace(BUCKET, prefix='odd"$HOME%h\\/', kms_key_arn="arn:aws:kms:r:1:key/k")
    line = next(line for line in service(mount).splitlines() if line.startswith("ExecStart="))
    assert '"--prefix=odd\\"$$HOME%%h\\\\/"' in line
    assert '"--sse=aws:kms" "--sse-kms-key-id=arn:aws:kms:r:1:key/k"' in line
