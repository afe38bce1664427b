from __future__ import annotations

import pytest
from slurmpod_lifecycle.failures import NotYet, StepFailed
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.steps.mount_fsx import FSTAB, MOUNTS, MountFsx, is_mounted, with_entry

from tests.unit.lifecycle.fakes import MOUNTED, machine_of, node, settings

FILE_SYSTEM = settings().file_system
ENTRY = (
    "fs-0123.fsx.us-west-2.amazonaws.com@tcp:/abcdefgh /fsx lustre"
    " noatime,flock,_netdev,x-systemd.automount 0 0\n"
)
ROOT_ENTRY = "LABEL=root / ext4 defaults 0 1\n"


def test_it_is_mounted_from_an_entry_that_survives_a_reboot() -> None:
    worker = node(Role.WORKER)
    machine = machine_of(worker)
    machine.files.update({MOUNTS: "", FSTAB: ROOT_ENTRY})
    with pytest.raises(NotYet, match="nothing is mounted at /fsx"):
        MountFsx(worker).apply()  # this machine's `mount` does nothing
    assert machine.files[FSTAB] == ROOT_ENTRY + ENTRY
    assert machine.ran == ["systemctl daemon-reload", "mkdir -p /fsx", "mount /fsx"]


def test_it_is_done_when_a_reboot_would_mount_it_too() -> None:
    worker = node(Role.WORKER)
    assert not MountFsx(worker).is_done()
    machine_of(worker).files[FSTAB] = ENTRY
    assert MountFsx(worker).is_done()
    machine_of(worker).files[MOUNTS] = ""
    assert not MountFsx(worker).is_done()


def test_what_is_mounted_without_an_entry_gets_one_and_stays() -> None:
    worker = node(Role.WORKER)
    MountFsx(worker).apply()
    assert machine_of(worker).files[FSTAB] == ENTRY
    assert not machine_of(worker).did("mount")


def test_it_counts_as_mounted_only_when_it_can_be_written() -> None:
    worker = node(Role.WORKER)
    machine_of(worker).fail("tee /fsx/.slurmpod-ip-10-0-128-20", "Read-only file system")
    with pytest.raises(NotYet, match="Read-only file system"):
        MountFsx(worker).apply()


def test_a_mount_that_fails_says_what_to_check() -> None:
    worker = node(Role.WORKER)
    machine_of(worker).files[MOUNTS] = ""
    machine_of(worker).fail("mount", "Connection timed out")
    with pytest.raises(NotYet, match="Connection timed out") as failure:
        MountFsx(worker).apply()
    assert "security group" in failure.value.fix


class TestFstab:
    def test_an_entry_of_another_file_system_is_replaced(self) -> None:
        old = ENTRY.replace("fs-0123", "fs-9999")
        assert with_entry(f"{old}{ROOT_ENTRY}", FILE_SYSTEM) == ROOT_ENTRY + ENTRY

    def test_adding_it_again_changes_nothing(self) -> None:
        once = with_entry(ROOT_ENTRY, FILE_SYSTEM)
        assert with_entry(once, FILE_SYSTEM) == once

    def test_comments_and_short_lines_stay(self) -> None:
        assert with_entry("# about /fsx\n\nodd\n", FILE_SYSTEM) == f"# about /fsx\n\nodd\n{ENTRY}"

    def test_a_last_line_without_end_stays_a_line(self) -> None:
        assert with_entry(ROOT_ENTRY.strip(), FILE_SYSTEM) == ROOT_ENTRY + ENTRY


class TestMounts:
    def test_the_name_of_the_file_system_decides(self) -> None:
        assert is_mounted(MOUNTED, FILE_SYSTEM)

    def test_what_stands_in_for_lustre_counts(self) -> None:
        assert is_mounted("/dev/vda /fsx ext4 rw 0 0\n", FILE_SYSTEM)

    def test_a_trigger_for_automounting_does_not(self) -> None:
        assert not is_mounted("systemd-1 /fsx autofs rw 0 0\n", FILE_SYSTEM)

    def test_another_folder_does_not(self) -> None:
        assert not is_mounted(MOUNTED.replace("/fsx", "/fsx2"), FILE_SYSTEM)

    def test_another_file_system_in_the_folder_is_refused(self) -> None:
        with pytest.raises(StepFailed, match="is mounted at /fsx") as failure:
            is_mounted(MOUNTED.replace("abcdefgh", "zzzzzzzz"), FILE_SYSTEM)
        assert not isinstance(failure.value, NotYet)
