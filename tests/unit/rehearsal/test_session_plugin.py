"""What stands in for the plugin of Session Manager, as the AWS CLI starts it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from slurmpod.rehearsal.session_plugin import FOLDER, VERSION, command_of, variables


def test_the_aws_cli_finds_it_first_and_learns_its_version(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("asked", "command"),
    [
        ({"Target": "a", "Parameters": {"command": ["echo a; b"]}}, ["sh", "-c", "echo a; b"]),
        ({"Target": "a"}, ["bash", "--login"]),
    ],
)
def test_the_document_says_what_runs(asked: dict[str, object], command: list[str]) -> None:
    assert command_of(asked) == command
