"""Waiting until the process is asked to stop, by a signal or by one of its threads."""

from __future__ import annotations

import os
import select
import signal


class Shutdown:
    """The stop request that a server process waits for; create it first in the main thread.

    `threading.Event` is not enough: Python runs a handler between two bytecode instructions, and
    the main thread, waiting for a lock, executes none when another thread received the signal.
    """

    def __init__(self, *signals: signal.Signals) -> None:
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)
        signal.set_wakeup_fd(self._writing)
        for number in signals:
            signal.signal(number, lambda *_: None)

    def tell(self) -> None:
        """End the wait, now or as soon as it starts."""
        os.write(self._writing, b"\0")

    def wait(self, seconds: float | None = None) -> bool:
        """Return whether a stop was requested, after at most `seconds`."""
        return bool(select.select([self._reading], [], [], seconds)[0])
