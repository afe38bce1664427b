"""Commands that may hang: they are given up in time, whatever they wait for."""

from __future__ import annotations

import os
import signal
import subprocess

LINES_SHOWN = 1


class ProbeFailed(Exception):
    """A command that ended badly; the text is its last word, `said` all that it printed."""

    said = ""


class ProbeMissing(ProbeFailed):
    """A command that this node does not have."""


class ProbeTimedOut(ProbeFailed):
    """A command that did not end in time."""


def probe(*command: str, seconds: float) -> str:
    """Run a command and return what it printed; raises ProbeFailed.

    One that hangs in the kernel, on a file system that does not answer, cannot be killed. It is
    left behind: its output goes to a file, so that nobody waits for the other end of a pipe. That
    file lies in memory and in no folder, as full disks, /dev/shm too, are what a node has to find.
    """
    with os.fdopen(os.memfd_create("probe"), "w+b") as output:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except FileNotFoundError:
            raise ProbeMissing(f"there is no {command[0]}") from None
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # a shell waits for another command
            raise ProbeTimedOut(f"no answer within {seconds:g} s") from None
        output.seek(0)
        said = output.read().decode(errors="replace")
    if status != 0:
        last = "; ".join(said.strip().splitlines()[-LINES_SHOWN:])
        failed = ProbeFailed(last or f"status {status}")
        failed.said = said
        raise failed
    return said
