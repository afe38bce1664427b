from __future__ import annotations

from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.steps.keep_daemons import KeepDaemons
from tests.pure.lifecycle.fakes import machine_of, node

FILES = [
    f"/etc/systemd/system/{unit}.service.d/slurmpod-restart.conf"
    for unit in ("slurmctld", "slurmdbd")
]


def test_both_daemons_are_started_again_without_end() -> None:
    step = KeepDaemons(node(Role.CONTROLLER))
    assert not step.is_done()
    step.apply()
    files = machine_of(step.node).files
    assert all("Restart=on-failure\n" in files[path] for path in FILES)
    assert all("StartLimitIntervalSec=0\n" in files[path] for path in FILES)
    assert not machine_of(step.node).did("systemctl daemon-reload")
    assert step.is_done()


def test_it_is_not_done_before_systemd_has_read_it() -> None:
    step = KeepDaemons(node(Role.CONTROLLER))
    step.apply()
    machine_of(step.node).reply("systemctl show --property=NeedDaemonReload", "yes\n")
    assert not step.is_done()
    step.apply()
    assert machine_of(step.node).ran[-1] == "systemctl daemon-reload"


def test_only_controllers_have_these_daemons() -> None:
    roles = [role for role in Role if KeepDaemons.applies_to(node(role))]
    assert roles == [Role.CONTROLLER]
