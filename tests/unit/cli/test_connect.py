"""What `slurmpod connect` does around a session."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from slurmpod.cli import connect

if TYPE_CHECKING:
    import pytest


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
