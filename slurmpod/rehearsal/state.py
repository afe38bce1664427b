"""Rehearsals on disk: the request and the state of each.

A rehearsal's folder is `home()/rehearsals/<id>`. The host process holds its lock while it runs, so
that a later command can distinguish a live rehearsal from the remains of a dead one.
"""

from __future__ import annotations

import contextlib
import copy
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from slurmpod.folders import home
from slurmpod.whole_file import write_whole


def images() -> Path:
    """Return the folder of baked node images, each named by the digest of its inputs."""
    return home() / "images"


def rehearsals() -> Path:
    """Return the folder that holds one folder for each rehearsal, running or dead."""
    return home() / "rehearsals"


CHOSEN = "SLURMPOD_REHEARSAL"
"""The variable with which `rehearsal env` selects the rehearsal for later commands in a shell."""

REQUEST_FILE = "request.json"
STATE_FILE = "state.json"
HOST_FILE = "host.json"
KEEP = b"keep\n"
"""What the starting command writes to the host's standard input to let it outlive the command."""


class UnreadableState(Exception):
    """A file of the folder is damaged, or was written by another version of slurmpod."""


@dataclass(frozen=True)
class Request:
    """The task of the host process.

    `profile` is the platform's profile as plain data; an update installs the software of
    `newest_profile` and `newest_image`. With `keeps_failed`, a cluster that fails stays up.
    `allowed` are the HOST:PORT addresses that nodes may connect to.
    """

    name: str
    environment_file: str
    account: str
    region: str
    cloud_only: bool
    image: str
    port: int | None
    lifetime_seconds: int
    profile: Mapping[str, Any]
    newest_profile: Mapping[str, Any] | None = None
    newest_image: str = ""
    keeps_failed: bool = False
    allowed: Sequence[str] = ()


@dataclass(frozen=True)
class State:
    """The state of a running rehearsal, and whether it outlives its command."""

    pid: int
    endpoint: str
    kept: bool


_Document = TypeVar("_Document", Request, State)


def write_request(folder: Path, request: Request) -> None:
    """Write the request that the host process of this folder reads."""
    _write(folder / REQUEST_FILE, asdict(request))


def read_request(folder: Path) -> Request:
    """Read this rehearsal's request; raises UnreadableState."""
    return _read(folder / REQUEST_FILE, Request)


def write_state(folder: Path, state: State) -> None:
    """Publish the state, replacing any earlier one."""
    _write(folder / STATE_FILE, asdict(state))


def read_state(folder: Path) -> State | None:
    """Read the state; None until the host has published it; raises UnreadableState."""
    try:
        return _read(folder / STATE_FILE, State)
    except FileNotFoundError:
        return None


def write_pid(folder: Path, pid: int) -> None:
    """Write the host's process id to a file that all versions can read."""
    _write(folder / HOST_FILE, {"pid": pid})


def read_pid(folder: Path) -> int | None:
    """Return the host's process id, even from another version's files; None if no file has it."""
    for name in (HOST_FILE, STATE_FILE):
        with contextlib.suppress(FileNotFoundError, ValueError):
            document = json.loads((folder / name).read_text())
            pid = document.get("pid") if isinstance(document, dict) else None
            if isinstance(pid, int) and pid > 1:  # others address a group, or all processes
                return pid
    return None


def forget_process(folder: Path) -> None:
    """Remove the files with the host's process id once it has exited and the id may be reused."""
    for name in (HOST_FILE, STATE_FILE):
        (folder / name).unlink(missing_ok=True)


def _read(path: Path, kind: type[_Document]) -> _Document:
    try:
        return kind(**json.loads(path.read_text()))
    except (TypeError, ValueError) as error:
        raise UnreadableState(
            f"{path.name} is damaged or was written by another version of slurmpod"
        ) from error


def _write(path: Path, document: dict[str, object]) -> None:
    write_whole(path, json.dumps(document, indent=2))


FAULTS_FILE = "faults.jsonl"
"""JSON lines: the effect of each fault, for reports of the rehearsal."""


def note_fault(folder: Path, report: Mapping[str, Any]) -> None:
    """Append the effect of a fault."""
    with (folder / FAULTS_FILE).open("a", encoding="utf-8") as file:
        file.write(json.dumps(report) + "\n")


def read_faults(folder: Path) -> tuple[Mapping[str, Any], ...]:
    """Return the effects of a rehearsal's faults, in order."""
    try:
        lines = (folder / FAULTS_FILE).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return ()
    return tuple(map(json.loads, lines))


JOURNAL_FILE = "journal.jsonl"
"""JSON lines: written by the host process, shown by the command that watches it."""


@dataclass(frozen=True)
class Event:
    """An event: its subject, what happened, and when (seconds of CLOCK_MONOTONIC)."""

    at_seconds: float
    subject: str
    what: str


class Journal:
    """Appends events to a rehearsal's journal; thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / JOURNAL_FILE).open("a", encoding="utf-8")
        self._lock = threading.Lock()
        self._cluster = ""

    def within(self, cluster: str) -> Journal:
        """Return this journal for a cluster's nodes, with subjects of the form `cluster/node`."""
        within = copy.copy(self)
        within._cluster = cluster  # noqa: SLF001  # its own copy
        return within

    def note(self, subject: str, what: str) -> None:
        """Write one event at once, so that a reader in another process sees it."""
        is_node = self._cluster and subject != self._cluster
        known_as = f"{self._cluster}/{subject}" if is_node else subject
        event = Event(time.monotonic(), known_as, what)
        with self._lock:
            self._file.write(json.dumps(asdict(event)) + "\n")
            self._file.flush()


class JournalReader:
    """Follows a journal from its beginning, even before it exists."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / JOURNAL_FILE
        self._offset = 0

    def new_events(self) -> Iterator[Event]:
        """Yield the events since the last call; an incomplete last line is left for the next."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._offset += len(line)
                yield Event(**json.loads(line))
