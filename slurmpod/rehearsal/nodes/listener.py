"""A socket that listens until it is closed: each connection is answered in a thread of its own."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable


class Listener:
    """Gives each connection to `answer`, which has to close it."""

    def __init__(
        self, listening: socket.socket, answer: Callable[[socket.socket], None], *, name: str
    ) -> None:
        self._socket = listening
        self._answer = answer
        threading.Thread(target=self._accept, name=name, daemon=True).start()

    def close(self) -> None:
        """Let nobody in any more; may be repeated."""
        with contextlib.suppress(OSError):  # it wakes up the thread that waits, unless closed
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()
