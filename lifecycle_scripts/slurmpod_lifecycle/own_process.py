"""Work in a separate process, whose end does not have to be waited for.

A thread that waits for an unresponsive file system may be immune to all signals. It keeps its
process alive with all its open files: the log, whose reader waits for its end, and the lock that
the next run waits for. So the work closes its files, reports its status and is left behind.
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
"""prctl(2): the signal that a process gets when its parent ends for any reason."""


def in_own_process(work: Callable[[], int]) -> int:
    """Run `work` and return its exit status, even if some of its threads can never end."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        _work_and_tell(work, writing)
    os.close(writing)
    signals = _pipe_of_signals()
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal interrupts both
    while reading not in select.select([reading, signals], [], [])[0]:
        os.read(signals, 1)
    answer = os.read(reading, 1)
    if answer:
        return answer[0]
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status if status >= 0 else 128 - status


def _pipe_of_signals() -> int:
    """Return a descriptor that is readable after a signal, even one that came before the wait.

    Python runs a handler between two of its instructions: a signal after the last of these, and
    before a blocking call, would have to wait with the call.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    return reading


def _work_and_tell(work: Callable[[], int], writing: int) -> NoReturn:
    status = 1
    try:
        status = work()
    except BaseException:  # noqa: BLE001  # the top of the process: nothing else handles it
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
