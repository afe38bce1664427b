"""Which services go on with older files: known across runs, and until they have started anew."""

from __future__ import annotations

import pytest

from slurmpod_lifecycle.units import knows_its_files, reload, write_for
from tests.pure.lifecycle.fakes import FakeMachine

CONF = "/etc/service.conf"


@pytest.fixture
def machine() -> FakeMachine:
    """Return a node whose service runs and has read its file."""
    machine = FakeMachine()
    machine.files[CONF] = "old"
    return machine


def test_a_file_that_stays_as_it_is_makes_nobody_old(machine: FakeMachine) -> None:
    write_for(machine, "service", CONF, "old", mode=0o600)
    assert knows_its_files(machine, "service")
    assert machine.access[CONF] == (0o600, "")


@pytest.mark.parametrize("verb", ["restart", "stop"])
def test_whoever_starts_it_a_new_run_knows(machine: FakeMachine, verb: str) -> None:
    write_for(machine, "service", CONF, "new")
    assert not knows_its_files(machine, "service")
    machine.run("systemctl", verb, "service")
    machine.run("systemctl", "start", "service")
    assert knows_its_files(machine, "service")


def test_a_service_that_is_told_to_read_them_knows(machine: FakeMachine) -> None:
    write_for(machine, "service", CONF, "new")
    reload(machine, "service")
    assert machine.ran[-1] == "systemctl reload service"
    assert knows_its_files(machine, "service")


class Booting(FakeMachine):
    """A node that starts the service at the worst moment: before its file changes."""

    def write(self, path: str, text: str, *, mode: int = 0o644, owner: str = "") -> bool:
        if path == CONF:
            self.run("systemctl", "restart", "service")
        return super().write(path, text, mode=mode, owner=owner)


def test_a_service_that_starts_just_then_is_not_trusted() -> None:
    machine = Booting()
    write_for(machine, "service", CONF, "new")
    assert not knows_its_files(machine, "service")
