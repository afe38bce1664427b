"""The server behind `srun --auto-resume`, without a network."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.hyperpod.service import AutoResumeServer

if TYPE_CHECKING:
    import pytest


class FakeSocket:
    """Listens, to nobody, until it is shut down."""

    def __init__(self) -> None:
        self._shut_down = threading.Event()
        self.is_closed = False

    def getsockname(self) -> tuple[str, int]:
        return "127.0.0.1", 4242

    def accept(self) -> Any:
        self._shut_down.wait()
        raise OSError("shut down")

    def shutdown(self, _: int) -> None:
        if self._shut_down.is_set():
            raise OSError("not connected")
        self._shut_down.set()

    def close(self) -> None:
        self.is_closed = True


def test_a_closed_server_leaves_no_socket_and_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    listening = FakeSocket()
    monkeypatch.setattr(socket, "create_server", lambda _: listening)
    server = AutoResumeServer(lambda _: None)
    (thread,) = (each for each in threading.enumerate() if each.name == "auto-resume")
    assert server.port == 4242
    server.close()
    server.close()
    thread.join()
    assert listening.is_closed
