"""How two nodes exchange: what follows an answer at once belongs to the next exchange."""

from __future__ import annotations

import socket
from typing import cast

import pytest

from slurmpod_checks import pair


class End:
    """One end of a stream whose other end has already sent all that it ever says."""

    def __init__(self, arrived: bytes) -> None:
        self.arrived = arrived
        self.sent = b""

    def sendall(self, data: bytes) -> None:
        self.sent += data

    def recv(self, most: int) -> bytes:
        taken, self.arrived = self.arrived[:most], self.arrived[most:]
        return taken

    def recv_into(self, buffer: bytearray) -> int:
        taken = self.recv(len(buffer))
        buffer[: len(taken)] = taken
        return len(taken)


def as_socket(end: End) -> socket.socket:
    return cast("socket.socket", end)


def test_an_answer_ends_where_the_next_exchange_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that is slow to read finds both at once, and has to take the rest as data."""
    monkeypatch.setattr(pair, "SECONDS", 0.0)
    end = End(b"812.5\n" + bytes(100) + b"\1")
    assert pair.send(as_socket(end)) == 812.5
    assert end.sent == b"\1"
    assert pair.receive(as_socket(end)) > 0
    assert end.arrived == b""


def test_who_hears_no_answer_has_sent_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair, "SECONDS", 0.0)
    assert pair.send(as_socket(End(b""))) == 0
