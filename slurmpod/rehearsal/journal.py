"""The journal of a rehearsal: lines of JSON in its folder.

Written by the host process, shown by the command that watches it, measured by the benchmarks.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

FILE_NAME = "journal.jsonl"


@dataclass(frozen=True)
class Event:
    """Something that happened: to whom, what, and when (seconds of CLOCK_MONOTONIC)."""

    at_seconds: float
    subject: str
    what: str


class Journal:
    """Appends events to a rehearsal's journal; safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / FILE_NAME).open("a", encoding="utf-8")
        self._lock = threading.Lock()

    def note(self, subject: str, what: str) -> None:
        """Write one event down at once, so that a reader in another process sees it."""
        event = Event(time.monotonic(), subject, what)
        with self._lock:
            self._file.write(json.dumps(asdict(event)) + "\n")
            self._file.flush()


class JournalReader:
    """Follows a journal from its beginning, also one that does not exist yet."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME
        self._offset = 0

    def new_events(self) -> Iterator[Event]:
        """Yield the events written since the last call; a line still being written waits."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._offset += len(line)
                yield Event(**json.loads(line))
