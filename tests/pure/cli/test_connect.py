"""What `slurmpod connect` does around a session."""

from __future__ import annotations

import signal
from argparse import ArgumentParser
from pathlib import Path

import pytest

from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.session_manager import SessionManager, SessionRequest
from slurmpod.aws.session_plugin import INSTALLATION
from slurmpod.cli import connect
from tests.pure.session_fakes import Ssm, put_plugin

REQUEST = SessionRequest("node")


def test_ctrl_c_is_for_what_runs_on_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_plugin(tmp_path, monkeypatch, "kill -INT $PPID")
    before = signal.getsignal(signal.SIGINT)
    assert connect._open(SessionManager(Ssm().clients()), REQUEST) == 0
    assert signal.getsignal(signal.SIGINT) is before


def test_without_the_plugin_it_says_where_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AwsUnavailable, match=INSTALLATION):
        connect._open(SessionManager(Ssm().clients()), REQUEST)


@pytest.mark.parametrize(("example", "is_told"), [("recorded-sessions", True), ("managed", False)])
def test_a_session_that_fails_is_told_of_the_way_without_the_document(
    example: str,
    is_told: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    put_plugin(tmp_path, monkeypatch, "exit 1")
    monkeypatch.setattr(connect, "clients_of", lambda _: Ssm().clients())
    monkeypatch.setattr(connect, "session_request", lambda *_: REQUEST)
    parser = ArgumentParser()
    connect.add_arguments(parser)
    assert connect.run(parser.parse_args([f"environments/examples/{example}.yaml"])) == 1
    assert (connect.NO_SESSION in capsys.readouterr().err) is is_told
