"""Wait until the process is told to end, by a signal or by a thread of its own."""

from __future__ import annotations

import os
import select
import signal


class Shutdown:
    """What a process waits for that serves others; make it in the main thread, before others.

    `threading.Event` would not do: Python runs a handler between two of its own instructions, and
    the main thread, waiting for a lock, comes to none when another thread took the signal.
    """

    def __init__(self, *signals: signal.Signals) -> None:
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)
        signal.set_wakeup_fd(self._writing)
        for number in signals:
            signal.signal(number, lambda *_: None)

    def tell(self) -> None:
        """Let the wait end, now or when it begins."""
        os.write(self._writing, b"\0")

    def wait(self, seconds: float | None = None) -> bool:
        """Return whether the end was told of, after `seconds` at the latest."""
        return bool(select.select([self._reading], [], [], seconds)[0])
