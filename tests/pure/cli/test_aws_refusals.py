"""Commands that AWS does not answer: without credentials, without rights, and when it is busy.

Each ends with a sentence that has AWS's own word for it, and has changed nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError

from slurmpod.cli.main import run
from slurmpod.problems import ExitCode
from tests.pure.cli.every_command import ASKING, ENVIRONMENT, lay_out, let_in

COMMANDS = (
    *(f"{name} {rest}" for name, rest in ASKING.items()),
    "dashboards dev.yaml --push",
)
SHOW_THE_REST = ("preflight", "report", "status")
"""They say in each place what they were refused, and show what they were not."""

IDENTITY = {"Account": "123456789012", "Arn": "arn:aws:iam::123456789012:user/newcomer"}


@pytest.fixture(autouse=True)
def _somebody_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(tmp_path, monkeypatch)


@pytest.mark.parametrize("command", COMMANDS)
def test_without_credentials(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command.split()) == (ExitCode.OK if command == "report dev.yaml" else 1)
    assert "Unable to locate credentials" in "".join(capsys.readouterr())


@pytest.mark.parametrize("code", ["AccessDeniedException", "ThrottlingException"])
@pytest.mark.parametrize("command", COMMANDS)
def test_when_aws_refuses_everything_but_who_asks(
    command: str,
    code: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    def refuse(_: BaseClient, operation: str, __: Any) -> Any:
        if operation == "GetCallerIdentity":
            return IDENTITY
        raise ClientError({"Error": {"Code": code, "Message": "no"}}, operation)

    monkeypatch.setattr(BaseClient, "_make_api_call", refuse)
    let_in(monkeypatch)
    shows_the_rest = command.startswith(SHOW_THE_REST)
    assert run(command.split()) == (ExitCode.OK if shows_the_rest else ExitCode.FAILED)
    shown = "".join(capsys.readouterr())
    if command == "report dev.yaml":
        shown = (tmp_path / "report.html").read_text()
    assert code in shown
    assert (tmp_path / "dev.yaml").read_text() == ENVIRONMENT
