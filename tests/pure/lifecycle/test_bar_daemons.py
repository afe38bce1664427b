from __future__ import annotations

import pytest

from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.steps.bar_daemons import BarDaemons
from tests.pure.lifecycle.fakes import machine_of, node

BARRED = [(Role.CONTROLLER, "slurmd"), (Role.LOGIN, "slurmctld"), (Role.WORKER, "slurmctld")]


@pytest.mark.parametrize(("role", "unit"), BARRED)
def test_the_other_daemon_can_never_start(role: Role, unit: str) -> None:
    step = BarDaemons(node(role))
    step.apply()
    machine = machine_of(step.node)
    drop_in = machine.files[f"/etc/systemd/system/{unit}.service.d/slurmpod.conf"]
    assert "[Unit]\nAssertPathExists=/run/" in drop_in
    assert machine.did(f"systemctl disable --quiet --now {unit}")


def test_it_is_barred_before_it_is_stopped() -> None:
    step = BarDaemons(node(Role.CONTROLLER))
    machine_of(step.node).reply("systemctl show --property=NeedDaemonReload", "yes\n")
    step.apply()
    ran = machine_of(step.node).ran
    assert ran.index("systemctl daemon-reload") < ran.index(
        "systemctl disable --quiet --now slurmd"
    )


def test_it_is_done_only_while_the_daemon_is_off() -> None:
    step = BarDaemons(node(Role.CONTROLLER))
    step.apply()
    assert not step.is_done()
    machine_of(step.node).fail("systemctl is-active")
    assert not step.is_done()
    machine_of(step.node).fail("systemctl is-enabled")
    assert step.is_done()


def test_a_daemon_that_is_off_is_not_touched() -> None:
    step = BarDaemons(node(Role.CONTROLLER))
    machine_of(step.node).fail("systemctl is-")
    step.apply()
    assert not machine_of(step.node).did("systemctl disable")
