"""Job records that are saved, and what a new controller does with them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from slurmpod_lifecycle.kept_records import RESTORING, program
from slurmpod_lifecycle.settings import RecordsBackup, Role
from slurmpod_lifecycle.step import CommandFailed
from slurmpod_lifecycle.steps.accounting import ACCOUNTING_CONF, Accounting
from slurmpod_lifecycle.steps.records_backup import SavedRecords
from tests.pure.lifecycle.fakes import FakeMachine, machine_of, node

BACKUP = RecordsBackup("s3://scripts/records/dev.sql.gz", 30)
TABLES = "mariadb --batch"
LIST = "aws s3api list-objects-v2 --bucket scripts --prefix records/dev.sql.gz"
LOAD = "bash -c set -euo pipefail; aws s3 cp"


@pytest.fixture(name="step")
def _step() -> Accounting:
    step = Accounting(node(Role.CONTROLLER, records_backup=BACKUP))
    machine_of(step.node).open_ports.add(("localhost", 6819))
    return step


@pytest.fixture(name="machine")
def _machine(step: Accounting) -> FakeMachine:
    machine = machine_of(step.node)
    machine.reply(TABLES, "")
    machine.reply(LIST, "1\n")
    return machine


def position(machine: FakeMachine, command: str) -> int:
    return next(i for i, ran in enumerate(machine.ran) if ran.startswith(command))


def test_saved_records_are_loaded_before_slurmdbd_starts(
    step: Accounting, machine: FakeMachine
) -> None:
    step.apply()
    assert position(machine, LOAD) < position(machine, "systemctl restart slurmdbd")
    assert any(ran.endswith("s3://scripts/records/dev.sql.gz slurm_acct_db") for ran in machine.ran)


def test_a_database_with_records_is_left_alone(step: Accounting, machine: FakeMachine) -> None:
    machine.reply(TABLES, "dev_assoc_table\n")
    step.apply()
    assert not machine.did(LOAD)


MAXIMUM = f"{TABLES} --skip-column-names --execute SELECT COALESCE(MAX(id_job), 0)"


def test_numbers_of_jobs_go_on_after_the_restored_ones_and_stay(
    step: Accounting, machine: FakeMachine
) -> None:
    machine.reply(TABLES, "dev_assoc_table\ndev_job_table\n")
    machine.reply(f"{MAXIMUM} FROM slurm_acct_db.`dev_job_table`", "4711\n")
    step.apply()
    assert machine.files[ACCOUNTING_CONF].endswith("\nFirstJobId=4712\n")
    assert step.is_done()
    machine.reply(MAXIMUM, "4999\n")
    before = machine.files[ACCOUNTING_CONF]
    step.apply()
    assert machine.files[ACCOUNTING_CONF] == before


@pytest.mark.parametrize("last", ["0", str(0x03FF0000)])
def test_numbers_of_jobs_begin_at_1_without_records_or_room(
    step: Accounting, machine: FakeMachine, last: str
) -> None:
    machine.reply(TABLES, "dev_job_table\n")
    machine.reply(MAXIMUM, f"{last}\n")
    step.apply()
    assert "FirstJobId" not in machine.files[ACCOUNTING_CONF]


def test_the_first_controller_finds_nothing_saved(step: Accounting, machine: FakeMachine) -> None:
    machine.reply(LIST, "0\n")
    step.apply()
    assert not machine.did(LOAD)


def test_records_that_were_loaded_by_half_are_loaded_anew(
    step: Accounting, machine: FakeMachine
) -> None:
    machine.fail(LOAD)
    with pytest.raises(CommandFailed):
        step.apply()
    assert RESTORING in machine.files
    machine.reply(LOAD, "")
    machine.reply(TABLES, "job_table\n")
    step.apply()
    assert machine.ran.count("mariadb") == 4  # the account and an empty database, twice
    assert machine.did(f"rm -f {RESTORING}")


def test_a_bucket_that_refuses_stops_the_step(step: Accounting, machine: FakeMachine) -> None:
    machine.fail(LIST, "AccessDenied")
    with pytest.raises(CommandFailed, match="AccessDenied"):
        step.apply()
    assert not machine.did("systemctl restart slurmdbd")


def test_a_timer_saves_them_and_a_second_run_finds_it_done() -> None:
    step = SavedRecords(node(Role.CONTROLLER, records_backup=BACKUP))
    assert step.apply() == "job records are saved every 30 minutes"
    assert (
        "OnUnitInactiveSec=1800"
        in machine_of(step.node).files["/etc/systemd/system/slurmpod-records-backup.timer"]
    )
    assert step.is_done()
    assert not SavedRecords.applies_to(node(Role.CONTROLLER))


def test_half_a_copy_is_never_saved(tmp_path: Path) -> None:
    for name, text in (("mariadb-dump", "echo CREATE; exit 1"), ("aws", f"touch {tmp_path}/put")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    script = program(BACKUP, "us-west-2").text
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "TMPDIR": str(tmp_path)}
    ended = subprocess.run(["bash", "-c", script], env=environment, check=False)
    assert ended.returncode == 1
    assert not (tmp_path / "put").exists()
    assert {each.name for each in tmp_path.iterdir()} == {"mariadb-dump", "aws"}
