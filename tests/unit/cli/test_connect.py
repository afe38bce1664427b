"""What `slurmpod connect` does around a session."""

from __future__ import annotations

import shutil
import signal
from argparse import ArgumentParser
from pathlib import Path

import pytest

from slurmpod.cli import connect


def test_ctrl_c_is_for_what_runs_on_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin = tmp_path / connect.PLUGIN
    plugin.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    before = signal.getsignal(signal.SIGINT)
    assert shutil.which(connect.PLUGIN)
    assert connect._open(["sh", "-c", "kill -INT $PPID"]) == 0
    assert signal.getsignal(signal.SIGINT) is before


def test_without_the_plugin_it_says_where_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert connect._open(["aws"]) == 1
    assert connect.INSTALLATION in capsys.readouterr().err


@pytest.mark.parametrize(("example", "is_told"), [("recorded-sessions", True), ("managed", False)])
def test_a_session_that_fails_is_told_of_the_way_without_the_document(
    example: str,
    is_told: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / connect.PLUGIN).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(connect, "clients_of", lambda _: None)
    monkeypatch.setattr(connect, "SessionNodes", lambda _: None)
    monkeypatch.setattr(connect, "session_command", lambda *_: ["false"])
    parser = ArgumentParser()
    connect.add_arguments(parser)
    assert connect.run(parser.parse_args([f"environments/examples/{example}.yaml"])) == 1
    assert (connect.NO_SESSION in capsys.readouterr().err) is is_told
