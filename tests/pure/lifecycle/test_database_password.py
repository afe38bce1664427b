from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from slurmpod_lifecycle.settings import Mode, Role
from slurmpod_lifecycle.steps.database_password import (
    COPIED,
    FOLDER,
    SCRIPTS,
    SERVICE_TEXT,
    TIMER,
    TIMER_PATH,
    DatabasePassword,
)
from tests.pure.lifecycle.fakes import DATABASE, machine_of, node


@pytest.fixture
def step() -> DatabasePassword:
    return DatabasePassword(node(Role.CONTROLLER, database=DATABASE))


@pytest.mark.parametrize("mode", Mode)
def test_every_controller_with_a_database_elsewhere_has_it(mode: Mode) -> None:
    assert DatabasePassword.applies_to(node(Role.CONTROLLER, database=DATABASE, mode=mode))


def test_nobody_else_has_it() -> None:
    others = [
        node(Role.CONTROLLER),
        node(Role.CONTROLLER, database=DATABASE, accounting=False),
        node(Role.WORKER, database=DATABASE),
        node(Role.LOGIN, database=DATABASE),
    ]
    assert not [each for each in others if DatabasePassword.applies_to(each)]


def test_the_scripts_are_copied_to_where_they_stay_before_the_timer_starts(
    step: DatabasePassword,
) -> None:
    step.apply()
    machine = machine_of(step.node)
    copies = [line for line in machine.ran if line.startswith("cp -r")]
    assert [line.split()[-1] for line in copies] == [FOLDER, FOLDER]
    assert machine.ran.index(copies[-1]) < machine.ran.index(f"systemctl restart {TIMER}")


def test_a_second_run_finds_it_done(step: DatabasePassword) -> None:
    assert not step.is_done()
    step.apply()
    assert step.is_done()


@pytest.mark.parametrize("broken", ["diff -rq", f"systemctl is-active --quiet {TIMER}"])
def test_other_scripts_or_a_stopped_timer_are_put_right(
    step: DatabasePassword, broken: str
) -> None:
    step.apply()
    machine_of(step.node).fail(broken)
    assert not step.is_done()


def test_the_units_hold_no_secret(step: DatabasePassword) -> None:
    step.apply()
    written = SERVICE_TEXT + machine_of(step.node).files[TIMER_PATH]
    assert "secret" not in written.lower()
    assert not machine_of(step.node).did("aws")


def test_what_is_copied_runs_without_the_rest_of_the_bundle(tmp_path: Path) -> None:
    for name in COPIED:
        if (SCRIPTS / name).is_dir():
            shutil.copytree(SCRIPTS / name, tmp_path / name)
    command = [sys.executable, "-B", "-m", "slurmpod_lifecycle.renew_password"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "settings.json: No such file" in ended.stderr
