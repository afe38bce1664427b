"""The program that makes one volume of a node's disks, on a machine that keeps LVM's state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slurmpod_lifecycle import scratch_volume
from slurmpod_lifecycle.machine import MOUNTS, RUN_BY_HAND, Machine
from slurmpod_lifecycle.scratch_volume import (
    MODEL,
    free_disks,
    instance_disks,
    main,
    mount_volume,
)
from slurmpod_lifecycle.step import CommandFailed, StepFailed
from tests.pure.lifecycle.living_machine import LivingMachine

ON_IMAGE = "/dev/mapper/vg.01-lv_ephemeral /opt/dlami/nvme ext4 rw 0 0\n"
AT_SCRATCH = f"{scratch_volume.DEVICE} /scratch ext4 rw 0 0\n"


def disk(path: str, *, model: str = MODEL, **more: Any) -> dict[str, Any]:
    return {
        "path": path,
        "type": "disk",
        "model": f"{model}  ",
        "fstype": None,
        "mountpoint": None,
        **more,
    }


PARTITIONED = {
    "proc/self/mountinfo": "",
    "proc/swaps": "",
    "sys/devices/nvme1n1/dev": "259:0",
    "sys/devices/nvme1n1/size": "1000",
    "sys/devices/nvme1n1/device/model": MODEL,
    "sys/devices/nvme1n1/nvme1n1p1/dev": "259:1",
    "sys/devices/nvme1n1/nvme1n1p1/partition": "1",
    "sys/devices/nvme1n1/nvme1n1p1/start": "8",
    "sys/devices/nvme1n1/nvme1n1p1/size": "900",
}
"""The kernel's files about a disk with a partition, as far as lsblk reads them."""

TWO_DISKS = (disk("/dev/nvme1n1"), disk("/dev/nvme2n1"))
ROOT = disk("/dev/nvme0n1", model="Amazon Elastic Block Store", children=[{"path": "p1"}])
EBS = disk("/dev/nvme3n1", model="Amazon Elastic Block Store")


class DiskMachine(LivingMachine):
    """A machine whose volumes and mounts are what its commands have made of them."""

    def __init__(self, *disks: dict[str, Any], mounts: str = "") -> None:
        super().__init__()
        self.disks = disks
        self.files[MOUNTS] = mounts
        self.members: tuple[str, ...] = ()
        self.stripes = ""
        self.is_formatted = False

    def _lsblk(self, *_: str) -> str:
        return json.dumps({"blockdevices": self.disks})

    def _vgs(self, *words: str) -> str:
        _must(bool(self.members), "no such group")
        return f"  {len(self.members)}\n" if "pv_count" in words else ""

    def _vgcreate(self, _: str, *members: str) -> None:
        _must(not self.members, "already exists")
        self.members = members

    def _lvs(self, _: str) -> None:
        _must(bool(self.stripes), "no such volume")

    def _lvcreate(self, _: str, stripes: str, *__: str) -> None:
        _must(not self.stripes, "already exists")
        self.stripes = stripes

    def _blkid(self, _: str) -> None:
        _must(self.is_formatted, "nothing found")

    def _mkfs(self, *words: str) -> None:
        _must(not self.is_formatted and words[-1] == scratch_volume.DEVICE, "in use")
        self.is_formatted = True

    def _mount(self, *words: str) -> None:
        source, folder = words[-2:]
        self.files[MOUNTS] += f"{source} {folder} ext4 rw 0 0\n"


def _must(condition: bool, otherwise: str) -> None:
    if not condition:
        raise CommandFailed(otherwise, RUN_BY_HAND)


class TestVolume:
    def test_all_disks_become_one_striped_volume_for_everybody(self) -> None:
        machine = DiskMachine(ROOT, *TWO_DISKS)
        assert mount_volume(machine, "/scratch") == "this node's disks are at /scratch"
        assert machine.members == ("/dev/nvme1n1", "/dev/nvme2n1")
        assert (machine.stripes, machine.is_formatted) == ("2", True)
        assert machine.files[MOUNTS] == AT_SCRATCH
        assert machine.ran[-1] == "chmod 1777 /scratch"

    def test_a_single_disk_is_a_volume_too(self) -> None:
        machine = DiskMachine(disk("/dev/nvme1n1"))
        mount_volume(machine, "/scratch")
        assert machine.stripes == "1"

    def test_after_a_reboot_what_is_there_is_mounted_again(self) -> None:
        machine = DiskMachine(*TWO_DISKS)
        mount_volume(machine, "/scratch")
        machine.files[MOUNTS], machine.ran = "", []
        mount_volume(machine, "/scratch")
        assert machine.files[MOUNTS] == AT_SCRATCH
        for command in ("vgcreate", "lvcreate", "mkfs"):
            assert not machine.did(command)

    def test_disks_that_came_back_empty_are_made_a_volume_again(self) -> None:
        machine = DiskMachine(*TWO_DISKS)
        mount_volume(machine, "/scratch")
        machine.files[MOUNTS], machine.members, machine.stripes = "", (), ""
        machine.is_formatted = False
        mount_volume(machine, "/scratch")
        assert (machine.stripes, machine.is_formatted) == ("2", True)

    def test_running_it_again_changes_nothing(self) -> None:
        machine = DiskMachine(*TWO_DISKS)
        mount_volume(machine, "/scratch")
        machine.ran = []
        mount_volume(machine, "/scratch")
        assert machine.ran == ["mkdir -p /scratch", "chmod 1777 /scratch"]

    def test_whatever_cuts_it_off_the_next_run_completes_it(self) -> None:
        whole = DiskMachine(*TWO_DISKS)
        mount_volume(whole, "/scratch")
        for boundary in range(1, whole.changes + 1):
            machine = DiskMachine(*TWO_DISKS)
            with machine.killed_after(boundary):
                mount_volume(machine, "/scratch")
            mount_volume(machine, "/scratch")
            assert (machine.stripes, machine.files[MOUNTS]) == ("2", AT_SCRATCH)
            assert machine.ran[-1] == "chmod 1777 /scratch"

    def test_the_volume_of_the_image_is_used_where_it_has_one(self) -> None:
        machine = DiskMachine(*TWO_DISKS, mounts=ON_IMAGE)
        mount_volume(machine, "/scratch")
        assert not machine.members
        assert machine.did("mount --bind /opt/dlami/nvme/scratch /scratch")
        assert machine.ran[-1] == "chmod 1777 /scratch"


class TestDisks:
    @pytest.mark.parametrize(
        "used",
        [
            disk("/dev/nvme2n1", fstype="xfs"),
            disk("/dev/nvme2n1", mountpoint="[SWAP]"),
            disk("/dev/nvme2n1", children=[{"path": "/dev/nvme2n1p1"}]),
            disk("/dev/nvme2n1", fstype="LVM2_member"),
        ],
    )
    def test_a_disk_with_anything_on_it_is_left_alone(self, used: dict[str, Any]) -> None:
        assert free_disks([disk("/dev/nvme1n1"), used]) == ["/dev/nvme1n1"]
        with pytest.raises(StepFailed, match="all instance-store disks are in use: /dev/nvme2n1"):
            free_disks([used])

    def test_partitions_stand_below_their_disk(self, tmp_path: Path) -> None:
        for file, text in PARTITIONED.items():
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_text(f"{text}\n")
        for device, place in (("259:0", "nvme1n1"), ("259:1", "nvme1n1/nvme1n1p1")):
            link = tmp_path / "sys/dev/block" / device
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(f"../../devices/{place}")
        (tmp_path / "sys/block").mkdir()
        (tmp_path / "sys/block/nvme1n1").symlink_to("../devices/nvme1n1")
        lsblk, *options = scratch_volume.LSBLK
        shown = json.loads(Machine().run(lsblk, "--sysroot", str(tmp_path), *options))
        with pytest.raises(StepFailed, match="are in use: /dev/nvme1n1;"):
            free_disks(instance_disks(DiskMachine(*shown["blockdevices"])))

    def test_volumes_of_ebs_are_never_touched(self) -> None:
        machine = DiskMachine(ROOT, EBS)
        with pytest.raises(StepFailed, match="no instance-store disk"):
            mount_volume(machine, "/scratch")
        assert not machine.did("vgcreate")

    def test_a_disk_of_unknown_model_is_no_instance_store(self) -> None:
        assert not instance_disks(DiskMachine({**EBS, "model": None}))

    def test_nobody_lets_lvm_wipe_what_it_finds(self) -> None:
        machine = DiskMachine(*TWO_DISKS)
        mount_volume(machine, "/scratch")
        (creation,) = (line for line in machine.ran if line.startswith("vgcreate"))
        assert creation == "vgcreate slurmpod /dev/nvme1n1 /dev/nvme2n1"


class TestProgram:
    def test_it_says_what_it_did(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(DiskMachine(*TWO_DISKS), "/scratch") == 0
        assert capsys.readouterr().out == "this node's disks are at /scratch\n"

    def test_its_last_word_is_the_reason(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(DiskMachine(ROOT), "/scratch") == 1
        assert capsys.readouterr().err.startswith("error: this node has no instance-store disk")
