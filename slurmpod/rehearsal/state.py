"""Rehearsals on disk: what each was asked for, and what of it is running.

The folder of one is `home()/rehearsals/<id>`. The host process holds its lock for as long as it
lives, so that a later run can tell a live rehearsal from what a dead one left.
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
    """Return the folder of baked node images, each named by the digest of what made it."""
    return home() / "images"


def rehearsals() -> Path:
    """Return the folder that holds one folder for each rehearsal, running or dead."""
    return home() / "rehearsals"


CHOSEN = "SLURMPOD_REHEARSAL"
"""The variable in which `rehearsal env` tells the later commands of a shell which one is meant."""

REQUEST_FILE = "request.json"
STATE_FILE = "state.json"
HOST_FILE = "host.json"
KEEP = b"keep\n"
"""What the starting command writes to the host's standard input if that is to outlive it."""


class UnreadableState(Exception):
    """A file of the folder is damaged, or another version of slurmpod wrote it."""


@dataclass(frozen=True)
class Request:
    """The task of the host process.

    `profile` is the platform's, as plain data, and `newest_profile` that of the software which an
    update brings, with `newest_image`. A cluster that fails stays up if it `keeps_failed` ones.
    `allowed` are the HOST:PORT that nodes are let out to.
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
    """The offers of a running rehearsal, and whether it is to outlive its command."""

    pid: int
    endpoint: str
    kept: bool


_Document = TypeVar("_Document", Request, State)


def write_request(folder: Path, request: Request) -> None:
    """Write what the host process of this folder will read."""
    _write(folder / REQUEST_FILE, asdict(request))


def read_request(folder: Path) -> Request:
    """Read what this rehearsal was asked for; raises UnreadableState."""
    return _read(folder / REQUEST_FILE, Request)


def write_state(folder: Path, state: State) -> None:
    """Publish what is running, replacing what was published before."""
    _write(folder / STATE_FILE, asdict(state))


def read_state(folder: Path) -> State | None:
    """Read what is running; None until the host has published it; raises UnreadableState."""
    try:
        return _read(folder / STATE_FILE, State)
    except FileNotFoundError:
        return None


def write_pid(folder: Path, pid: int) -> None:
    """Note which process is the host, in a file that all versions can read."""
    _write(folder / HOST_FILE, {"pid": pid})


def read_pid(folder: Path) -> int | None:
    """Return the host process, also from another version's files; None if no file tells it."""
    for name in (HOST_FILE, STATE_FILE):
        with contextlib.suppress(FileNotFoundError, ValueError):
            document = json.loads((folder / name).read_text())
            pid = document.get("pid") if isinstance(document, dict) else None
            if isinstance(pid, int) and pid > 1:  # others mean a group of processes, or all
                return pid
    return None


def forget_process(folder: Path) -> None:
    """Remove what names the host process, once that has died and its id may become another's."""
    for name in (HOST_FILE, STATE_FILE):
        (folder / name).unlink(missing_ok=True)


def _read(path: Path, kind: type[_Document]) -> _Document:
    try:
        return kind(**json.loads(path.read_text()))
    except (TypeError, ValueError) as error:
        raise UnreadableState(
            f"{path.name} is damaged, or of another version of slurmpod"
        ) from error


def _write(path: Path, document: dict[str, object]) -> None:
    write_whole(path, json.dumps(document, indent=2))


FAULTS_FILE = "faults.jsonl"
"""Lines of JSON: what each fault did, for whoever makes a report of the rehearsal."""


def note_fault(folder: Path, report: Mapping[str, Any]) -> None:
    """Write down what a fault did, beside those before it."""
    with (folder / FAULTS_FILE).open("a", encoding="utf-8") as file:
        file.write(json.dumps(report) + "\n")


def read_faults(folder: Path) -> tuple[Mapping[str, Any], ...]:
    """Return what the faults of a rehearsal did, in their order."""
    try:
        lines = (folder / FAULTS_FILE).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return ()
    return tuple(map(json.loads, lines))


JOURNAL_FILE = "journal.jsonl"
"""Lines of JSON: written by the host process, shown by the command that watches it."""


@dataclass(frozen=True)
class Event:
    """Something that happened: to whom, what, and when (seconds of CLOCK_MONOTONIC)."""

    at_seconds: float
    subject: str
    what: str


class Journal:
    """Appends events to a rehearsal's journal; safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / JOURNAL_FILE).open("a", encoding="utf-8")
        self._lock = threading.Lock()
        self._cluster = ""

    def within(self, cluster: str) -> Journal:
        """Return this journal for a cluster's nodes: they are subjects as `cluster/node`."""
        within = copy.copy(self)
        within._cluster = cluster  # noqa: SLF001  # its own copy
        return within

    def note(self, subject: str, what: str) -> None:
        """Write one event down at once, so that a reader in another process sees it."""
        is_node = self._cluster and subject != self._cluster
        known_as = f"{self._cluster}/{subject}" if is_node else subject
        event = Event(time.monotonic(), known_as, what)
        with self._lock:
            self._file.write(json.dumps(asdict(event)) + "\n")
            self._file.flush()


class JournalReader:
    """Follows a journal from its beginning, also one that does not exist yet."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / JOURNAL_FILE
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
