"""Commands that may hang: each has a time limit that holds whatever it waits for."""

from __future__ import annotations

import os
import signal
import subprocess

LINES_SHOWN = 1


class ProbeFailed(Exception):
    """A command that failed; the text is its last message, `said` its whole output."""

    said = ""


class ProbeMissing(ProbeFailed):
    """A command that this node does not have."""


class ProbeTimedOut(ProbeFailed):
    """A command that exceeded its time limit."""


def probe(*command: str, seconds: float) -> str:
    """Run a command and return its output; raises ProbeFailed.

    A command that hangs in the kernel, on a file system that does not answer, cannot be killed. It
    is left running: its output goes to a file, so that nothing waits for the other end of a pipe.
    The file is in memory and not in a folder, as full disks, including /dev/shm, are among the
    faults to detect.
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
