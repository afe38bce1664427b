from __future__ import annotations

from dataclasses import replace

import pytest

from slurmpod_lifecycle.machine import MOUNTS
from slurmpod_lifecycle.settings import FileSystem, Role
from slurmpod_lifecycle.step import NotYet, StepFailed
from slurmpod_lifecycle.steps.mount_fsx import (
    FSTAB,
    MountFsx,
    check_usable,
    is_mounted,
    with_entry,
)
from tests.pure.lifecycle.fakes import LUSTRE, MOUNTED, OPENZFS, machine_of, node

FILE_SYSTEM = LUSTRE
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
    assert machine.ran == [
        "systemd-escape --path --suffix=mount /fsx",
        "systemctl show --property=NeedDaemonReload,LoadState,DropInPaths --value fsx.mount",
        "find /etc/systemd/system -maxdepth 2 -path /etc/systemd/system/fsx.mount.service.d/*.conf",
        "mkdir -p /fsx",
        "mount /fsx",
        "stat /fsx/.",
    ]


def test_systemd_forgets_another_entry_for_the_folder() -> None:
    worker = node(Role.WORKER)
    machine = machine_of(worker)
    machine.reply("systemctl show --property=NeedDaemonReload", "yes\n")
    MountFsx(worker).apply()
    assert machine.ran.index("systemctl daemon-reload") < machine.ran.index("stat /fsx/.")


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


HOME_ENTRY = (
    "fs-4567.fsx.us-west-2.amazonaws.com:/fsx /home nfs noatime,nfsvers=4.2,nconnect=16"
    ",rsize=1048576,wsize=1048576,_netdev,x-systemd.automount 0 0\n"
)
HOME_MOUNTED = "fs-4567.fsx.us-west-2.amazonaws.com:/fsx /home nfs4 rw,vers=4.2 0 0\n"


class TestSeveral:
    def test_each_gets_its_entry_and_all_must_be_mounted(self) -> None:
        worker = node(Role.WORKER, file_systems=(LUSTRE, OPENZFS))
        machine = machine_of(worker)
        with pytest.raises(NotYet, match="nothing is mounted at /home"):
            MountFsx(worker).apply()
        assert machine.files[FSTAB] == ENTRY + HOME_ENTRY
        assert not machine.did("mount /fsx")  # which is there already
        assert not MountFsx(worker).is_done()
        machine.files[MOUNTS] += HOME_MOUNTED
        assert MountFsx(worker).is_done()

    def test_without_any_there_is_no_step(self) -> None:
        assert not MountFsx.applies_to(node(Role.WORKER, file_systems=()))

    def test_what_hyperpod_mounts_is_left_to_it(self) -> None:
        by_hyperpod = replace(LUSTRE, mounted_by_hyperpod=True)
        assert not MountFsx.applies_to(node(Role.WORKER, file_systems=(by_hyperpod,)))
        worker = node(Role.WORKER, file_systems=(by_hyperpod, OPENZFS))
        machine_of(worker).files[MOUNTS] += HOME_MOUNTED
        MountFsx(worker).apply()
        assert machine_of(worker).files[FSTAB] == HOME_ENTRY


class TestUsable:
    @pytest.mark.parametrize(
        "file_system", [replace(LUSTRE, is_new=False), replace(LUSTRE, root_squash=True)]
    )
    def test_nothing_is_written_where_root_may_not_write(self, file_system: FileSystem) -> None:
        worker = node(Role.WORKER)
        check_usable(worker, file_system)
        assert not machine_of(worker).did("tee")

    def test_a_file_system_that_waits_for_its_first_use_is_used(self) -> None:
        worker = node(Role.WORKER)
        machine_of(worker).fail("stat /fsx/.", "Host is down")
        with pytest.raises(NotYet, match="Host is down"):
            check_usable(worker, LUSTRE)


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

    def test_nfs_is_told_by_its_server(self) -> None:
        assert is_mounted(HOME_MOUNTED, OPENZFS)
        assert is_mounted(HOME_MOUNTED.replace(":/fsx ", ":/fsx/ "), OPENZFS)
        with pytest.raises(StepFailed, match="another file system, fs-9999"):
            is_mounted(HOME_MOUNTED.replace("fs-4567", "fs-9999"), OPENZFS)

    def test_another_kind_of_file_system_is_refused(self) -> None:
        with pytest.raises(StepFailed, match="is mounted at /home"):
            is_mounted(MOUNTED.replace("/fsx", "/home"), OPENZFS)

    def test_how_hyperpod_mounts_is_its_own_business(self) -> None:
        by_hyperpod = replace(OPENZFS, mounted_by_hyperpod=True)
        assert is_mounted(HOME_MOUNTED.replace("fs-4567", "10.0.0.9"), by_hyperpod)

    def test_another_file_system_in_the_folder_is_refused(self) -> None:
        with pytest.raises(StepFailed, match="is mounted at /fsx") as failure:
            is_mounted(MOUNTED.replace("abcdefgh", "zzzzzzzz"), FILE_SYSTEM)
        assert not isinstance(failure.value, NotYet)
