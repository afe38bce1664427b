"""One rehearsal's folder on disk: what it was asked for, and what is running.

The folder is `home()/rehearsals/<id>`. The host process holds its lock for as long as it lives, so
that a later run can tell a live rehearsal from what a dead one left.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

REQUEST_FILE = "request.json"
STATE_FILE = "state.json"
KEEP = b"keep\n"
"""What the starting command writes to the host's standard input if that is to outlive it."""


@dataclass(frozen=True)
class Request:
    """What the host process is asked to run.

    `environment` is the environment as plain data, `policies` the policy files that it names.
    """

    name: str
    environment_file: str
    account: str
    region: str
    environment: dict[str, Any]
    policies: dict[str, Any]
    cloud_only: bool
    image: str
    port: int | None
    lifetime_seconds: int


@dataclass(frozen=True)
class State:
    """What a running rehearsal offers, and whether it is to outlive its command."""

    pid: int
    endpoint: str
    kept: bool


def write_request(folder: Path, request: Request) -> None:
    """Write what the host process of this folder will read."""
    _write(folder / REQUEST_FILE, asdict(request))


def read_request(folder: Path) -> Request:
    """Read what this rehearsal was asked for."""
    return Request(**json.loads((folder / REQUEST_FILE).read_text()))


def write_state(folder: Path, state: State) -> None:
    """Publish what is running, replacing what was published before."""
    _write(folder / STATE_FILE, asdict(state))


def read_state(folder: Path) -> State | None:
    """Read what is running; None until the host process has published it."""
    try:
        return State(**json.loads((folder / STATE_FILE).read_text()))
    except FileNotFoundError:
        return None


def _write(path: Path, document: dict[str, object]) -> None:
    temporary = path.with_suffix(f".{os.getpid()}")
    temporary.write_text(json.dumps(document, indent=2))
    temporary.replace(path)
