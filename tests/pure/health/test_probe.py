"""Commands that hang are given up, and users' links lead nowhere: only real processes show that."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from slurmpod_health.disks import WRITE
from slurmpod_health.probe import ProbeFailed, ProbeMissing, ProbeTimedOut, probe


def test_what_a_command_prints_is_returned() -> None:
    assert probe(sys.executable, "-c", "print('hello')", seconds=60) == "hello\n"


def test_its_last_word_is_the_reason() -> None:
    with pytest.raises(ProbeFailed, match=r"^No space left$"):
        probe("sh", "-c", "echo first; echo No space left >&2; exit 1", seconds=60)


def test_one_that_hangs_is_left_behind() -> None:
    with pytest.raises(ProbeTimedOut, match=r"no answer within 0\.01 s"):
        probe("sleep", "1000", seconds=0.01)


def test_one_that_not_even_a_signal_ends_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that waits in the kernel for a file system; nobody may wait for it in turn."""
    left: list[int] = []
    monkeypatch.setattr(os, "killpg", lambda group, _: left.append(group))
    with pytest.raises(ProbeTimedOut):
        probe("sleep", "60", seconds=0.01)
    (group,) = left
    os.kill(group, signal.SIGKILL)


def test_one_that_is_not_there_is_told_apart() -> None:
    with pytest.raises(ProbeMissing, match="there is no /no/such/command"):
        probe("/no/such/command", seconds=60)


def test_a_link_that_a_user_has_left_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "passwd"
    victim.write_text("root:x:0:0\n")
    folder = tmp_path / "scratch"
    folder.mkdir()
    link = folder / ".slurmpod-health-ip-10-0-1-5"
    link.symlink_to(victim)
    probe("sh", "-c", WRITE, "sh", str(folder), "ip-10-0-1-5", seconds=60)
    assert victim.read_text() == "root:x:0:0\n"
    assert list(folder.iterdir()) == [link]


def test_a_folder_that_takes_no_files_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProbeFailed, match="No such file or directory"):
        probe("sh", "-c", WRITE, "sh", str(tmp_path / "gone"), "ip-10-0-1-5", seconds=60)
