from __future__ import annotations

import json

import pytest

from slurmpod_lifecycle import renew_password as program
from slurmpod_lifecycle.renew_password import main, renew, with_account
from slurmpod_lifecycle.slurm import SLURMDBD_CONF
from slurmpod_lifecycle.step import NotYet
from slurmpod_lifecycle.stored_secret import Credentials, account_lines
from tests.pure.lifecycle.fakes import DATABASE, FakeMachine, settings

BASE = "SlurmUser=slurm\nStorageHost=db.example\n"
OLD = account_lines(Credentials("admin", "old"))
NEW = account_lines(Credentials("admin", "new#"))
ASK = "aws secretsmanager get-secret-value"


@pytest.fixture
def machine() -> FakeMachine:
    """Return a controller whose slurmdbd runs with the old password."""
    machine = FakeMachine()
    machine.files[SLURMDBD_CONF] = BASE + OLD
    machine.fail("systemctl is-failed")
    return machine


def test_a_password_that_is_the_same_changes_nothing(machine: FakeMachine) -> None:
    assert not renew(machine, OLD)
    assert machine.files[SLURMDBD_CONF] == BASE + OLD
    assert not machine.did("systemctl restart")


def test_a_new_password_is_written_for_slurm_alone_and_slurmdbd_restarted(
    machine: FakeMachine,
) -> None:
    assert renew(machine, NEW)
    assert machine.files[SLURMDBD_CONF] == BASE + NEW
    assert machine.access[SLURMDBD_CONF] == (0o600, "slurm")
    assert machine.did("systemctl restart --no-block slurmdbd")


def test_a_slurmdbd_that_a_run_before_has_not_started_again_is(machine: FakeMachine) -> None:
    machine.fail("systemctl restart")
    with pytest.raises(NotYet):
        renew(machine, NEW)
    machine.reply("systemctl restart", "")
    machine.runs.clear()  # it never was: the run ended before
    assert renew(machine, NEW)
    assert not renew(machine, NEW)


def test_a_slurmdbd_that_failed_is_started_again(machine: FakeMachine) -> None:
    machine.reply("systemctl is-failed", "")
    assert renew(machine, OLD)
    assert machine.did("systemctl restart --no-block slurmdbd")


def test_a_node_without_slurmdbd_is_left_alone(machine: FakeMachine) -> None:
    machine.files.clear()
    assert not renew(machine, NEW)
    assert not machine.files


@pytest.mark.parametrize(
    "text",
    [
        f"{BASE}StorageUser=x\nStoragePass=y\n",
        f"storagepass = y\n{BASE}  STORAGEUSER=x",
        BASE,
    ],
)
def test_whoever_wrote_it_the_file_names_one_account(text: str) -> None:
    assert with_account(text, NEW).splitlines() == (BASE + NEW).splitlines()


class TestProgram:
    @pytest.fixture(autouse=True)
    def _settings(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(program, "load_settings", lambda _: settings(database=DATABASE))

    def test_it_says_what_it_did_and_not_the_password(
        self, machine: FakeMachine, capsys: pytest.CaptureFixture[str]
    ) -> None:
        machine.reply(ASK, json.dumps({"username": "admin", "password": "new#"}))
        assert main(machine) == 0
        said = capsys.readouterr()
        assert "slurmdbd was started again" in said.out
        assert "new#" not in said.out + said.err + "".join(machine.ran)

    def test_a_secret_that_does_not_answer_leaves_all_as_it_is(
        self, machine: FakeMachine, capsys: pytest.CaptureFixture[str]
    ) -> None:
        machine.fail(ASK, "AccessDeniedException")
        assert main(machine) == 1
        assert "AccessDeniedException" in capsys.readouterr().err
        assert machine.files[SLURMDBD_CONF] == BASE + OLD
