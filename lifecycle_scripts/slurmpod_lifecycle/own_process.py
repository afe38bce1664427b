"""Work in a process of its own, whose end nobody has to wait for.

A thread that waits for a file system that does not answer may be beyond all signals, and keeps its
process from ending, with all its open files: the log, which somebody reads to the end, and the lock
that the next run waits for. So the work lets go of its files, tells its status, and is left behind.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn

STANDARD_FILES = range(3)

PR_SET_PDEATHSIG = 1
"""prctl(2): the signal that a process gets when its parent ends, of whatever."""


def in_own_process(work: Callable[[], int]) -> int:
    """Run `work` and return its exit status, even if threads of it can never end."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        _work_and_tell(work, writing)
    os.close(writing)
    signals = _pipe_of_signals()
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal interrupts both
    while reading not in select.select([reading, signals], [], [])[0]:
        os.read(signals, 1)
    told = os.read(reading, 1)
    if told:
        return told[0]
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status if status >= 0 else 128 - status


def _pipe_of_signals() -> int:
    """Return what can be read when a signal has come, also one that came before anybody waited.

    Python runs a handler between two instructions of its own: a signal that comes behind the last
    one of these, and before a call that waits, would have to wait with it.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    return reading


def _work_and_tell(work: Callable[[], int], writing: int) -> NoReturn:
    status = 1
    try:
        status = work()
    except BaseException:  # noqa: BLE001  # nothing is above this: it is the process's end
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        _let_go_of_files(writing)
        os.write(writing, bytes([status]))
        os._exit(status)


def _let_go_of_files(kept: int) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in STANDARD_FILES:
        os.dup2(nothing, standard)
    os.closerange(STANDARD_FILES.stop, kept)
    os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))
