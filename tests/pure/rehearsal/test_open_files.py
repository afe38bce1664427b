"""The file descriptors of a rehearsal's host: as many as it may have, and what it does without."""

from __future__ import annotations

import errno
import os
import queue
import resource
from typing import Any

import pytest

from slurmpod.rehearsal.hosting import MANY_FILES, allow_many_files
from slurmpod.rehearsal.nodes import sandbox
from slurmpod.rehearsal.nodes.sandbox import Listener

PATIENCE_SECONDS = 60


class Socket:
    """Listens; what `accept` does next is put into `next`, and nothing after it was closed."""

    def __init__(self) -> None:
        self.next: queue.SimpleQueue[object] = queue.SimpleQueue()

    def accept(self) -> tuple[object, None]:
        connection = self.next.get()
        if isinstance(connection, OSError):
            raise connection
        return connection, None

    def shutdown(self, _: int) -> None:
        self.next.put(OSError(errno.EBADF, os.strerror(errno.EBADF)))

    def close(self) -> None:
        pass


def test_a_door_stays_open_though_there_were_no_descriptors_for_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sandbox, "_PAUSE_SECONDS", 0)
    listening: Any = Socket()
    answered: queue.SimpleQueue[object] = queue.SimpleQueue()
    listening.next.put(OSError(errno.EMFILE, os.strerror(errno.EMFILE)))
    listening.next.put("a connection")
    listener = Listener(listening, answered.put, name="door")
    assert answered.get(timeout=PATIENCE_SECONDS) == "a connection"
    listener.close()


def test_a_host_may_have_more_files_open_than_a_login_gives() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, before[1]))
        allow_many_files()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert (soft, hard) == (min(before[1], MANY_FILES), before[1])
