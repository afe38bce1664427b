"""Commands on nodes through Session Manager, with what they print.

The plugin of Session Manager wants a terminal even where nobody types, so it gets one of its own;
it tells no exit status, so what a command prints has to say how it went.
"""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import threading
from contextlib import suppress

DOCUMENT = "AWS-StartNonInteractiveCommand"
"""AWS's session document that runs one command and ends."""

CHUNK = 65_536


def command_session(region: str, target: str, command: str) -> list[str]:
    """Return the command that runs `command` in a shell on the node `target`."""
    parameters = json.dumps({"command": [command]})
    return [
        *("aws", "ssm", "start-session", "--region", region, "--target", target),
        *("--document-name", DOCUMENT, "--parameters", parameters),
    ]


class NodeSessions:
    """Sessions that go on side by side, and can all be ended at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: set[subprocess.Popen[bytes]] = set()
        self._ended = False

    def output(self, session: list[str]) -> str:
        """Open a session and return what was printed in it, once it has ended.

        Returns nothing after `end`.
        """
        screen, terminal = pty.openpty()
        with os.fdopen(screen, "rb", buffering=0) as output:
            try:
                process = self._start(session, terminal)
            finally:
                os.close(terminal)
            if process is None:
                return ""
            printed = _read_all(output.fileno())
            process.wait()
            with self._lock:
                self._open.discard(process)
        return printed.decode(errors="replace").replace("\r\n", "\n")

    def end(self) -> None:
        """End all sessions, and with them what runs in them on the nodes; begin no others."""
        with self._lock:
            self._ended = True
            for process in self._open:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)

    def _start(self, session: list[str], terminal: int) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._ended:
                return None
            process = subprocess.Popen(
                session,
                stdin=terminal,
                stdout=terminal,
                stderr=terminal,
                start_new_session=True,  # Ctrl-C is ours: `end` tells them
            )
            self._open.add(process)
            return process


def _read_all(screen: int) -> bytes:
    printed = b""
    with suppress(OSError):  # a terminal that everybody has closed
        while chunk := os.read(screen, CHUNK):
            printed += chunk
    return printed
