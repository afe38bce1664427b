"""The command lines with which commands get into machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurmpod.rehearsal.nodes import cgroups
from slurmpod.rehearsal.nodes.enter import enter_command, machine_command
from slurmpod.rehearsal.nodes.errors import MachineFailed

MACHINE = Path("/cgroups/slurmpod-1/ip-10-1-0-10")


@pytest.fixture(autouse=True)
def running(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "init_pid", lambda cgroup: 4242 if cgroup == MACHINE else None)


def test_root_has_nothing_but_what_is_given() -> None:
    argv = machine_command(
        MACHINE, MACHINE / "run-1", ["id", "-u"], user=None, environment={"A": "b c"}, cwd="/opt"
    )
    assert argv[4:8] == [str(MACHINE / "run-1"), "nsenter", "--target=4242", "--mount"]
    assert argv[-7:] == ["env", "-i", "--default-signal", "--chdir=/opt", "A=b c", "id", "-u"]


def test_root_cannot_harm_the_host() -> None:
    argv = machine_command(MACHINE, MACHINE / "run-1", ["id"], user=None)
    (bounding_set,) = (word for word in argv if word.startswith("--bounding-set="))
    assert {"-sys_module", "-sys_time"} <= set(bounding_set.partition("=")[2].split(","))


def test_words_of_a_command_are_never_parsed_by_a_shell() -> None:
    command = ["printf", "%s", "a b; $(reboot) 'x'"]
    argv = machine_command(MACHINE, MACHINE / "run-1", command, user="ubuntu")
    assert argv[-3:] == command


@pytest.mark.parametrize("user", [None, "root", "ubuntu"])
def test_a_command_ignores_no_signal_that_its_caller_ignores(user: str | None) -> None:
    argv = machine_command(MACHINE, MACHINE / "run-1", ["id"], user=user)
    assert "--default-signal" in argv[argv.index("env") :]


def test_a_machine_that_does_not_run() -> None:
    with pytest.raises(MachineFailed, match="gone is not running"):
        machine_command(MACHINE.with_name("gone"), MACHINE, ["id"], user=None)


def test_a_folder_that_never_had_machines(tmp_path: Path) -> None:
    with pytest.raises(MachineFailed, match="there are no machines in"):
        enter_command(tmp_path, "alpha", ["id"])
