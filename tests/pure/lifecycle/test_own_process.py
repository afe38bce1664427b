"""Work in a process of its own: what it says and how it ends is told as if it were ours."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.golden_files import ROOT

PROGRAM = """
import os, signal, sys
from slurmpod_lifecycle.own_process import in_own_process

def work():
    print("working")
    {work}

sys.exit(in_own_process(work))
"""


def run(work: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(work=work)],
        cwd=ROOT / "lifecycle_scripts",
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("status", [0, 1, 42])
def test_its_output_and_status_are_those_of_the_work(status: int) -> None:
    ended = run(f"return {status}")
    assert (ended.returncode, ended.stdout, ended.stderr) == (status, "working\n", "")


def test_a_mistake_is_shown_and_is_a_failure() -> None:
    ended = run("raise ValueError('a mistake')")
    assert ended.returncode == 1
    assert ended.stderr.endswith("ValueError: a mistake\n")


def test_who_is_killed_is_known_by_the_signal() -> None:
    assert run("os.kill(os.getpid(), signal.SIGKILL)").returncode == 128 + 9


def test_a_request_to_end_reaches_the_work() -> None:
    """The one who waits is asked, as soon as it listens (proc(5), SigCgt)."""
    listens = "int(open(f'/proc/{os.getppid()}/status').read().split('SigCgt:')[1].split()[0], 16)"
    ask = f"while not {listens} >> (signal.SIGTERM - 1) & 1: pass"
    ended = run(f"{ask}\n    os.kill(os.getppid(), signal.SIGTERM); signal.pause()")
    assert ended.returncode == 128 + 15
