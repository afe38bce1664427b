"""A way from the machines to one port of this computer, though they have no other way out.

A socket belongs to the network namespace of the thread that makes it, whoever uses it later: so
this process listens inside the enclosure and connects outside, and no network is opened.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path


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


_CLONE_NEWNET = 0x40000000
_CHUNK_BYTES = 65536


class Door:
    """Everything that connects to `address` in the namespace gets to `port` of the loopback.

    `inside` is the port there.
    """

    def __init__(self, namespace: Path, address: str, port: int, *, inside: int) -> None:
        self._port = port
        listening = _listen(namespace, address, inside)
        self._listener = Listener(listening, self._connect, name=f"door-{port}")

    def close(self) -> None:
        """Let nobody in any more; may be repeated."""
        self._listener.close()

    def _connect(self, inside: socket.socket) -> None:
        with (
            inside,
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", self._port)) as outside,
        ):
            back = threading.Thread(target=_copy, args=(outside, inside), daemon=True)
            back.start()
            _copy(inside, outside)
            back.join()


def _listen(namespace: Path, address: str, port: int) -> socket.socket:
    made: list[socket.socket | OSError] = []

    def listen() -> None:  # in a thread of its own, which ends: no other one changes its namespace
        try:
            with namespace.open() as file:
                _enter(file.fileno())
            made.append(socket.create_server((address, port)))
        except OSError as error:
            made.append(error)

    thread = threading.Thread(target=listen)
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return made[0]


def _enter(descriptor: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, _CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Pass on what comes until nothing more does, and that, too."""
    with contextlib.suppress(OSError):  # one of the two has gone
        while chunk := source.recv(_CHUNK_BYTES):
            target.sendall(chunk)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
