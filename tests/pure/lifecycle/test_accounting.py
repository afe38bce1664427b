from __future__ import annotations

from dataclasses import replace

import pytest

from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.slurm import SLURMDBD_CONF
from slurmpod_lifecycle.step import NotYet, StepFailed
from slurmpod_lifecycle.steps.accounting import (
    ACCOUNTING_CONF,
    Accounting,
    slurmdbd_conf,
)
from tests.pure.lifecycle.fakes import (
    BACKUP_ADDRESS,
    CONTROLLER_ADDRESS,
    DATABASE,
    NODE_OPTIONS,
    TWO_HEADS,
    controller_of_two,
    machine_of,
    node,
    settings,
)

SECRET = "aws secretsmanager get-secret-value"


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
    written = machine_of(step.node).files[ACCOUNTING_CONF]
    assert f"\nAccountingStorageHost={CONTROLLER_ADDRESS}\n" in written
    assert "Backup" not in written


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


def test_an_image_without_mariadb_gets_the_distributions(step: Accounting) -> None:
    machine_of(step.node).fail("systemctl cat mariadb")
    step.apply()
    ran = machine_of(step.node).ran
    (installed,) = (line for line in ran if line.endswith(" mariadb-server"))
    assert ran.index(installed) < ran.index("systemctl start mariadb")


def test_an_image_without_mariadb_in_a_closed_network_is_a_failure_with_a_way_out() -> None:
    step = Accounting(node(Role.CONTROLLER, node=replace(NODE_OPTIONS, has_way_out=False)))
    machine_of(step.node).fail("systemctl cat mariadb")
    with pytest.raises(StepFailed, match="MariaDB is not on this image") as failure:
        step.apply()
    assert not isinstance(failure.value, NotYet)
    assert "slurm.accounting_database" in failure.value.fix
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


class TestDatabaseOfTheUser:
    @pytest.fixture
    def step(self) -> Accounting:
        step = Accounting(node(Role.CONTROLLER, database=DATABASE))
        machine_of(step.node).open_ports.add(("localhost", 6819))
        machine_of(step.node).reply(SECRET, '{"username": "acct", "password": "a#b\\\\c"}\n')
        return step

    def test_slurmdbd_connects_to_it_as_the_secret_says(self, step: Accounting) -> None:
        step.apply()
        machine = machine_of(step.node)
        assert machine.files[SLURMDBD_CONF].splitlines()[-5:] == [
            "StorageHost=slurm.example.us-west-2.rds.amazonaws.com",
            "StoragePort=3306",
            "StorageLoc=slurm_acct_db",
            'StorageUser="acct"',
            r'StoragePass="a\#b\\c"',
        ]
        assert machine.access[SLURMDBD_CONF] == (0o600, "slurm")

    def test_a_server_that_asks_for_it_is_reached_encrypted(self) -> None:
        plain, encrypted = (
            slurmdbd_conf(settings(database=replace(DATABASE, requires_tls=tls)), ("10.0.0.4",))
            for tls in (False, True)
        )
        assert encrypted == f"{plain}StorageParameters=SSL_CIPHER=HIGH\n"

    def test_no_database_is_started_on_the_node(self, step: Accounting) -> None:
        step.apply()
        assert not machine_of(step.node).did("systemctl start mariadb")
        assert not machine_of(step.node).did("mariadb")

    def test_the_password_is_in_no_command_and_no_message(self, step: Accounting) -> None:
        machine = machine_of(step.node)
        assert "a#b" not in step.apply()
        assert "a#b" not in "".join([*machine.ran, *machine.inputs.values()])

    def test_the_secret_is_not_asked_for_again_when_it_is_done(self, step: Accounting) -> None:
        step.apply()
        machine_of(step.node).ran.clear()
        assert step.is_done()
        assert not machine_of(step.node).did("aws")

    def test_a_secret_that_may_not_be_read_says_what_to_check(self, step: Accounting) -> None:
        machine_of(step.node).fail(SECRET, "AccessDeniedException")
        with pytest.raises(NotYet, match="AccessDenied") as failure:
            step.apply()
        assert "execution role" in failure.value.fix


class TestSeveralControllers:
    def test_every_slurmdbd_knows_both(self) -> None:
        text = slurmdbd_conf(
            settings(multi_head=TWO_HEADS, database=DATABASE), (BACKUP_ADDRESS, CONTROLLER_ADDRESS)
        )
        assert "\nDbdHost=ip-10-0-127-9\nDbdAddr=10.0.127.9\nDbdBackupHost=ip-10-0-128-10\n" in text

    def test_all_nodes_know_both_in_the_order_of_their_names(self) -> None:
        step = Accounting(controller_of_two())
        machine = machine_of(step.node)
        machine.open_ports.add(("localhost", 6819))
        machine.reply(SECRET, '{"password": "secret"}')
        step.apply()
        assert (
            "\nAccountingStorageHost=10.0.128.10\nAccountingStorageBackupHost=10.0.127.9\n"
            in (machine.files[ACCOUNTING_CONF])
        )
        assert 'StorageUser="admin"' in machine.files[SLURMDBD_CONF]

    def test_it_waits_until_all_are_listed(self) -> None:
        step = Accounting(node(Role.CONTROLLER, multi_head=TWO_HEADS, database=DATABASE))
        with pytest.raises(NotYet, match="lists 1 of 2 instances"):
            step.apply()

    def test_the_second_one_stands_by_without_answering(self) -> None:
        first = controller_of_two()
        second = replace(first, instance=replace(first.instance, address=BACKUP_ADDRESS))
        machine = machine_of(second)
        machine.reply(SECRET, '{"password": "secret"}')
        step = Accounting(second)
        machine.fail("systemctl is-failed")
        assert not step.is_done()
        assert step.apply() == f"slurmdbd is a standby of the one on {CONTROLLER_ADDRESS}"
        assert machine.did("systemctl restart --no-block slurmdbd")
        assert step.is_done()
        machine.reply("systemctl is-failed", "")
        assert not step.is_done()
