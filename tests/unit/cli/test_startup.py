"""A command ends quickly, and yet in good order."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import atexit, subprocess, sys, threading
from slurmpod.cli import startup

def work():
    subprocess.run(["cat"], check=True)
    print("worked")

atexit.register(print, "tidied up")
threading.Thread(target=work).start()
print("returned", flush=True)
startup.leave(3)
"""


def test_threads_and_what_is_registered_for_the_end_are_waited_for() -> None:
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdin
        assert run.stdout
        assert run.stdout.readline() == "returned\n"
        run.stdin.close()
        assert run.stdout.read() == "worked\ntidied up\n"
    assert run.returncode == 3
