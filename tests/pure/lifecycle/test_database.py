"""What Secrets Manager says, and what of it Slurm can be given."""

from __future__ import annotations

import json

import pytest

from slurmpod_lifecycle.step import NotYet, StepFailed
from slurmpod_lifecycle.stored_secret import credentials, quoted
from tests.pure.lifecycle.fakes import DATABASE, FakeMachine


def machine_with(answer: str) -> FakeMachine:
    machine = FakeMachine()
    machine.reply("aws secretsmanager get-secret-value", answer)
    return machine


def test_the_secret_is_asked_for_in_its_own_region() -> None:
    machine = machine_with('{"username": "u", "password": "p"}')
    found = credentials(machine, DATABASE)
    assert (found.user, found.password) == ("u", "p")
    (command,) = machine.ran
    assert f"--region us-west-2 --secret-id {DATABASE.secret_arn} " in command


def test_a_secret_without_a_user_leaves_the_user_to_the_environment() -> None:
    assert credentials(machine_with('{"password": "p"}'), DATABASE).user == "admin"


def test_a_password_does_not_show_by_accident() -> None:
    assert "hush" not in repr(credentials(machine_with('{"password": "hush"}'), DATABASE))


@pytest.mark.parametrize(
    "answer",
    ["", "no json", "[]", "null", '"text"', "{}", '{"username": "u"}'],
)
def test_a_secret_of_another_form_is_refused(answer: str) -> None:
    with pytest.raises(StepFailed, match="has no password") as failure:
        credentials(machine_with(answer), DATABASE)
    assert not isinstance(failure.value, NotYet)


@pytest.mark.parametrize("password", ["", 'a"b', "a\nb", "a\0b", 7, None])
def test_a_password_that_slurm_cannot_read_is_refused(password: object) -> None:
    answer = json.dumps({"username": "u", "password": password})
    with pytest.raises(StepFailed, match="a character that Slurm cannot read"):
        credentials(machine_with(answer), DATABASE)


def test_what_begins_a_comment_is_escaped() -> None:
    assert quoted("plain word") == '"plain word"'
    assert quoted("a#b\\c") == '"a\\#b\\\\c"'
