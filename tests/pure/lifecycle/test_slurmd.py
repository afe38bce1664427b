from __future__ import annotations

import configparser

import pytest

from slurmpod_lifecycle.node import RESOURCE_CONFIG
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.step import NotYet
from slurmpod_lifecycle.steps.slurmd import OPTIONS_PATH, Slurmd, drop_in
from tests.pure.lifecycle.fakes import (
    BACKUP_ADDRESS,
    CONTROLLER_ADDRESS,
    TWO_HEADS,
    controller_of_two,
    machine_of,
    node,
)

DROP_IN = "/etc/systemd/system/slurmd.service.d/slurmpod.conf"
NOT_LISTED = "slurmd: fatal: Unable to determine this slurmd's NodeName\nslurmd: Failed\n"


@pytest.fixture(params=[Role.LOGIN, Role.WORKER])
def step(request: pytest.FixtureRequest) -> Slurmd:
    step = Slurmd(node(request.param))
    machine_of(step.node).open_ports.add((CONTROLLER_ADDRESS, 6817))
    return step


def test_it_asks_the_controller_for_its_configuration(step: Slurmd) -> None:
    machine = machine_of(step.node)
    machine.reply("systemctl show --property=NeedDaemonReload", "yes\n")
    step.apply()
    assert "EnvironmentFile=/etc/slurmpod/slurmd.env\n" in machine.files[DROP_IN]
    assert machine.files[OPTIONS_PATH] == "SLURMD_OPTIONS=--conf-server=10.0.128.10:6817\n"
    assert machine.ran.index("systemctl daemon-reload") < machine.ran.index(
        "systemctl restart slurmd"
    )


def test_it_asks_any_of_several_controllers() -> None:
    step = Slurmd(node(Role.WORKER, multi_head=TWO_HEADS))
    machine = machine_of(step.node)
    machine.files[RESOURCE_CONFIG] = machine_of(controller_of_two()).files[RESOURCE_CONFIG]
    machine.open_ports.add((BACKUP_ADDRESS, 6817))  # the first one is gone
    step.apply()
    assert "--conf-server=10.0.128.10:6817,10.0.127.9:6817\n" in machine.files[OPTIONS_PATH]


def test_without_a_file_system_it_waits_for_none() -> None:
    unit = configparser.ConfigParser()
    unit.read_string(drop_in([]))
    assert unit["Unit"]["After"] == unit["Unit"]["Wants"] == ""


def test_it_waits_for_the_controller(step: Slurmd) -> None:
    machine_of(step.node).open_ports.clear()
    with pytest.raises(NotYet, match=r"does not answer at 10\.0\.128\.10:6817"):
        step.apply()
    assert not machine_of(step.node).did("systemctl")


def test_a_second_run_finds_it_done(step: Slurmd) -> None:
    assert not step.is_done()
    step.apply()
    assert step.is_done()


def test_a_controller_with_a_new_address_is_news(step: Slurmd) -> None:
    step.apply()
    machine = machine_of(step.node)
    now = machine.files[OPTIONS_PATH]
    machine.files[OPTIONS_PATH] = now.replace(CONTROLLER_ADDRESS, "10.0.128.9")
    assert not step.is_done()


def test_a_node_that_slurm_conf_does_not_list_yet_is_no_failure(step: Slurmd) -> None:
    machine_of(step.node).fail("systemctl restart slurmd")
    machine_of(step.node).reply("journalctl", NOT_LISTED)
    assert step.apply().startswith("warning: slurm.conf does not list ip-10-0-128-")


def test_any_other_reason_not_to_start_is(step: Slurmd) -> None:
    machine_of(step.node).fail("systemctl restart slurmd")
    machine_of(step.node).reply("journalctl", f"{NOT_LISTED}slurmd: error: munge is down\n")
    with pytest.raises(NotYet, match="slurmd does not start: slurmd: error: munge is down"):
        step.apply()


def test_it_starts_again_without_end_and_after_the_file_system() -> None:
    unit = configparser.ConfigParser()
    unit.read_string(drop_in(["fsx.mount", "home.mount"]))
    assert unit["Unit"]["After"] == unit["Unit"]["Wants"] == "fsx.mount home.mount"
    assert unit["Unit"]["StartLimitIntervalSec"] == "0"
    assert unit["Service"]["Restart"] == "on-failure"
