"""A process that serves others ends when it is told to, by whatever thread hears of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

BEGIN = """\
import signal
import threading
from embedded_aws.shutdown import Shutdown

ending = Shutdown(signal.SIGTERM)
"""
HOW = {
    "a signal that comes before": "signal.raise_signal(signal.SIGTERM)",
    "a signal that another thread takes": """\
def take():
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

threading.Timer(0.3, take).start()""",
    "a thread": "threading.Thread(target=ending.tell).start()",
}


@pytest.mark.parametrize("how", HOW)
def test_the_wait_ends(how: str) -> None:
    program = f"{BEGIN}{HOW[how]}\nprint(ending.wait(60))\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == ("True\n", "", 0)


def test_it_ends_in_time_where_nobody_tells() -> None:
    program = f"{BEGIN}print(ending.wait(0.1))\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "False\n"
