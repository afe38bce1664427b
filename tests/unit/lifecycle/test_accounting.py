from __future__ import annotations

import pytest
from slurmpod_lifecycle.failures import NotYet, StepFailed
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.steps.accounting import (
    ACCOUNTING_CONF,
    SLURMDBD_CONF,
    Accounting,
    accounting_conf,
)

from tests.unit.lifecycle.fakes import CONTROLLER_ADDRESS, machine_of, node


@pytest.fixture
def step() -> Accounting:
    step = Accounting(node(Role.CONTROLLER))
    machine_of(step.node).open_ports.add(("localhost", 6819))
    return step


def test_database_and_account_exist_before_slurmdbd_starts(step: Accounting) -> None:
    step.apply()
    ran = machine_of(step.node).ran
    order = ["systemctl start mariadb", "mariadb", "systemctl restart slurmdbd"]
    assert [line for line in ran if line in order] == order


def test_slurmdbd_is_let_in_by_its_user_not_by_a_password(step: Accounting) -> None:
    step.apply()
    machine = machine_of(step.node)
    assert "slurm@localhost IDENTIFIED VIA unix_socket" in machine.inputs["mariadb"]
    assert "Pass" not in machine.files[SLURMDBD_CONF]


def test_statements_may_be_repeated(step: Accounting) -> None:
    step.apply()
    statements = machine_of(step.node).inputs["mariadb"].splitlines()
    assert all(
        "IF NOT EXISTS" in line or line.startswith(("ALTER", "GRANT")) for line in statements
    )


def test_a_database_user_that_the_image_has_already_logs_in_the_same_way(step: Accounting) -> None:
    step.apply()
    statements = machine_of(step.node).inputs["mariadb"]
    assert "ALTER USER slurm@localhost IDENTIFIED VIA unix_socket;" in statements


def test_its_configuration_is_readable_by_slurm_alone(step: Accounting) -> None:
    step.apply()
    access = machine_of(step.node).access
    assert access[SLURMDBD_CONF] == (0o600, "slurm")
    assert access[ACCOUNTING_CONF] == (0o644, "")


def test_other_nodes_are_told_the_address_of_the_controller(step: Accounting) -> None:
    step.apply()
    assert machine_of(step.node).files[ACCOUNTING_CONF] == accounting_conf(CONTROLLER_ADDRESS)
    assert f"\nAccountingStorageHost={CONTROLLER_ADDRESS}\n" in accounting_conf(CONTROLLER_ADDRESS)


def test_a_second_run_finds_it_done(step: Accounting) -> None:
    assert not step.is_done()
    step.apply()
    assert step.is_done()
    machine_of(step.node).open_ports.clear()
    assert not step.is_done()


def test_an_unchanged_slurmdbd_is_not_restarted(step: Accounting) -> None:
    step.apply()
    machine_of(step.node).ran.clear()
    step.apply()
    assert machine_of(step.node).did("systemctl start slurmdbd")
    assert not machine_of(step.node).did("systemctl restart")


def test_an_image_without_mariadb_is_a_failure_with_a_way_out(step: Accounting) -> None:
    machine_of(step.node).fail("systemctl cat mariadb")
    with pytest.raises(StepFailed, match="MariaDB is not on this image") as failure:
        step.apply()
    assert not isinstance(failure.value, NotYet)
    assert "slurm.accounting: false" in failure.value.fix


def test_a_slurmdbd_that_does_not_answer_is_waited_for(step: Accounting) -> None:
    machine_of(step.node).open_ports.clear()
    machine_of(step.node).reply("journalctl", "starting\nfatal: no such table\nFailed\n")
    with pytest.raises(NotYet, match="slurmdbd does not answer: fatal: no such table"):
        step.apply()


def test_a_database_that_does_not_start_says_why(step: Accounting) -> None:
    machine_of(step.node).fail("systemctl start mariadb")
    machine_of(step.node).reply("journalctl --unit mariadb", "[ERROR] disk full\n")
    with pytest.raises(NotYet, match=r"mariadb does not start: \[ERROR\] disk full"):
        step.apply()
