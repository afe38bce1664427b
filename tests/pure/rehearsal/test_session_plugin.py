"""What stands in for the plugin of Session Manager, and how it is found."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from slurmpod.rehearsal.session_plugin import (
    CARRY,
    FOLDER,
    RUN_AS_TAG,
    SSH_DOCUMENT,
    VERSION,
    NoUser,
    command_of,
    user_of,
    variables,
)


def test_commands_find_it_first_and_learn_its_version(tmp_path: Path) -> None:
    found = variables(tmp_path)
    assert found[FOLDER] == str(tmp_path)
    asked = subprocess.run(
        ["session-manager-plugin", "--version"],
        env={**os.environ, **found},
        capture_output=True,
        text=True,
        check=True,
    )
    assert asked.stdout == f"{VERSION}\n"


PROFILE = "cd; exec bash --login"
DOCUMENT = {"runAsEnabled": True, "runAsDefaultUser": "ubuntu", "shellProfile": {"linux": PROFILE}}
COMMAND = {"Target": "a", "Parameters": {"command": ["echo a; b"]}}


@pytest.mark.parametrize(
    ("asked", "inputs", "command"),
    [
        (COMMAND, {}, ["sh", "-c", "echo a; b"]),
        ({"Target": "a"}, {}, ["bash", "--login"]),
        ({"Target": "a"}, DOCUMENT, ["sh", "-c", PROFILE]),
        (
            {"DocumentName": SSH_DOCUMENT, "Parameters": {"portNumber": ["2222"]}},
            {},
            ["python3", "-c", CARRY, "2222"],
        ),
    ],
)
def test_the_document_says_what_runs(
    asked: dict[str, object], inputs: dict[str, object], command: list[str]
) -> None:
    assert command_of(asked, inputs) == command


@pytest.mark.parametrize(
    ("inputs", "tag", "user"),
    [
        ({}, "alice", "root"),
        (DOCUMENT, "", "ubuntu"),
        (DOCUMENT, "alice", "alice"),
        (DOCUMENT | {"runAsDefaultUser": ""}, "alice", "alice"),
    ],
)
def test_the_callers_tag_goes_before_the_user_of_the_document(
    inputs: dict[str, object], tag: str, user: str
) -> None:
    assert user_of(inputs, tag) == user


def test_where_nobody_names_a_user_no_session_begins() -> None:
    with pytest.raises(NoUser, match=RUN_AS_TAG):
        user_of(DOCUMENT | {"runAsDefaultUser": ""}, "")
