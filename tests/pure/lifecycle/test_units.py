from __future__ import annotations

from slurmpod_lifecycle import units
from tests.pure.lifecycle.fakes import FakeMachine

OUTDATED = "systemctl show --property=NeedDaemonReload"
RELOAD = "systemctl daemon-reload"


def test_systemd_reads_files_again_only_where_it_holds_older_ones() -> None:
    machine = FakeMachine()
    units.add_drop_in(machine, "slurmd", "[Service]\n")
    assert RELOAD not in machine.ran
    machine.reply(OUTDATED, "yes\n")
    units.add_drop_in(machine, "slurmd", "[Unit]\n")
    assert machine.ran[-1] == RELOAD


def test_a_drop_in_that_systemd_itself_overlooks_is_read() -> None:
    """Its folder is new, and this systemd is older than 257: Ubuntu 22.04 has 249."""
    machine = FakeMachine()
    machine.reply("find /etc/systemd/system", f"{units.drop_in_path('slurmd')}\n")
    machine.reply(OUTDATED, "no\nloaded\n/etc/systemd/system/slurmd.service.d/image.conf\n")
    units.add_drop_in(machine, "slurmd", "[Service]\n")
    assert machine.ran[-1] == RELOAD
    machine.reply(OUTDATED, f"no\nloaded\n{units.drop_in_path('slurmd')}\n")
    assert not units.is_outdated(machine, "slurmd")


def test_of_a_unit_without_a_file_there_is_nothing_to_read() -> None:
    machine = FakeMachine()
    machine.reply("find /etc/systemd/system", f"{units.drop_in_path('slurmdbd')}\n")
    machine.reply(OUTDATED, "no\nnot-found\n\n")
    assert not units.is_outdated(machine, "slurmdbd")


def test_what_a_run_wrote_that_was_cut_off_is_read_by_the_next_one() -> None:
    machine = FakeMachine()
    units.add_unit(machine, "ours", "[Unit]\n")
    machine.reply(OUTDATED, "yes\n")
    units.add_unit(machine, "ours", "[Unit]\n")
    assert machine.ran[-1] == RELOAD


def test_enabling_a_service_reads_no_files_again() -> None:
    machine = FakeMachine()
    units.start(machine, "slurmd")
    assert "env SYSTEMD_OFFLINE=1 systemctl enable --quiet slurmd" in machine.ran
