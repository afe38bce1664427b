"""What stands in for the plugin of Session Manager, as the AWS CLI starts it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from slurmpod.rehearsal.session_plugin import (
    CARRY,
    FOLDER,
    RUN_AS_TAG,
    SSH_DOCUMENT,
    VERSION,
    NoUser,
    _tags,
    command_of,
    user_of,
    variables,
)


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
    ("inputs", "tags", "user"),
    [
        ({}, {RUN_AS_TAG: "alice"}, "root"),
        (DOCUMENT, {}, "ubuntu"),
        (DOCUMENT, {RUN_AS_TAG: "alice"}, "alice"),
        (DOCUMENT | {"runAsDefaultUser": ""}, {RUN_AS_TAG: "alice"}, "alice"),
    ],
)
def test_the_callers_tag_goes_before_the_user_of_the_document(
    inputs: dict[str, object], tags: dict[str, str], user: str
) -> None:
    assert user_of(inputs, tags) == user


def test_where_nobody_names_a_user_no_session_begins() -> None:
    with pytest.raises(NoUser, match=RUN_AS_TAG):
        user_of(DOCUMENT | {"runAsDefaultUser": ""}, {"team": "vision"})


@pytest.mark.parametrize(
    ("arn", "tags"),
    [
        ("arn:aws:iam::123456789012:user/team/alice", {RUN_AS_TAG: "alice"}),
        ("arn:aws:sts::123456789012:assumed-role/people/session", {RUN_AS_TAG: "all"}),
        ("arn:aws:iam::123456789012:user/nobody", {}),
        ("arn:aws:iam::123456789012:root", {}),
    ],
)
def test_tags_are_those_of_whoever_opens_the_session(arn: str, tags: dict[str, str]) -> None:
    class Iam:
        def list_user_tags(self, *, UserName: str) -> dict[str, Any]:  # noqa: N803
            if UserName != "alice":
                error = {"Error": {"Code": "NoSuchEntity", "Message": "not there"}}
                raise ClientError(error, "ListUserTags")  # type: ignore[arg-type]
            return {"Tags": [{"Key": RUN_AS_TAG, "Value": UserName}]}

        def list_role_tags(self, *, RoleName: str) -> dict[str, Any]:  # noqa: N803
            assert RoleName == "people"
            return {"Tags": [{"Key": RUN_AS_TAG, "Value": "all"}]}

    assert _tags({"iam": Iam()}.__getitem__, arn) == tags
