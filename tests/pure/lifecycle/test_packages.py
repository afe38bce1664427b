"""Packages beside an image's own installations, which hold apt's locks for minutes."""

from __future__ import annotations

import threading
import time

import pytest

from slurmpod_lifecycle.machine import COMMAND_TIMEOUT_SECONDS, RUN_BY_HAND
from slurmpod_lifecycle.packages import (
    LOCK_PATIENCE_SECONDS,
    TIMEOUT_SECONDS,
    install,
    install_file,
)
from slurmpod_lifecycle.step import NotYet
from tests.pure.lifecycle.fakes import FakeMachine

ENV = "env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1"
DEB = "/var/cache/slurmpod/0.deb"


def words_of(machine: FakeMachine) -> list[str]:
    """Return the commands without environment and options."""
    lines = (line.removeprefix(f"{ENV} ").split() for line in machine.ran)
    return [" ".join(word for word in line if not word.startswith("-o")) for line in lines]


def test_an_interrupted_installation_is_finished_before_the_next() -> None:
    machine = FakeMachine()
    install(machine, "enroot")
    assert words_of(machine) == [
        "dpkg --configure -a",
        "apt-get --quiet --yes update",
        "apt-get --quiet --yes install --no-install-recommends enroot",
    ]


def test_a_lock_is_waited_for_without_being_cut_off() -> None:
    machine = FakeMachine()
    install(machine, "enroot")
    for line in machine.ran[1:]:
        assert f" -oDPkg::Lock::Timeout={LOCK_PATIENCE_SECONDS} " in line
        assert machine.patience[line] == TIMEOUT_SECONDS > LOCK_PATIENCE_SECONDS


def test_a_lock_that_is_held_for_longer_is_no_failure_for_good() -> None:
    machine = FakeMachine()
    machine.fail(f"{ENV} apt-get", "Could not get lock /var/lib/dpkg/lock-frontend")
    with pytest.raises(NotYet, match="Could not get lock"):
        install(machine, "enroot")


def test_while_the_lock_is_held_nothing_can_be_finished_yet() -> None:
    machine = FakeMachine()
    machine.fail(f"{ENV} dpkg", "dpkg frontend lock was locked by another process")
    install(machine, "enroot")
    assert machine.did(f"{ENV} apt-get")


def test_nothing_asks_and_no_service_is_restarted() -> None:
    machine = FakeMachine()
    install(machine, "enroot")
    assert all(line.startswith(f"{ENV} ") for line in machine.ran)
    assert "-oDpkg::Options::=--force-confold" in machine.ran[-1]


def test_a_file_needs_no_archive_if_nothing_else_is_missing() -> None:
    machine = FakeMachine()
    install_file(machine, DEB)
    assert words_of(machine)[1:] == [f"apt-get --quiet --yes install --no-install-recommends {DEB}"]


def test_for_what_a_file_depends_on_the_archive_is_asked() -> None:
    machine = FakeMachine()
    machine.fail(f"{ENV} apt-get", "unmet dependencies")
    with pytest.raises(NotYet, match="unmet dependencies"):
        install_file(machine, DEB, fix="mend it")
    assert [line.split()[3] for line in words_of(machine)[1:]] == ["install", "update", "install"]


class SlowMachine(FakeMachine):
    """A machine whose commands give other threads every chance to come between."""

    def run(
        self,
        *command: str,
        text: str = "",
        fix: str = RUN_BY_HAND,
        timeout_seconds: float = COMMAND_TIMEOUT_SECONDS,
    ) -> str:
        time.sleep(0.002)
        return super().run(*command, text=text, fix=fix, timeout_seconds=timeout_seconds)


def test_steps_side_by_side_install_one_after_the_other() -> None:
    machine = SlowMachine()
    threads = [threading.Thread(target=install, args=(machine, name)) for name in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [line.split()[0] for line in words_of(machine)] == ["dpkg", "apt-get", "apt-get"] * 3
