"""Sessions on nodes of a deployed cluster: the command that opens one, and commands through one."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import threading
from contextlib import suppress

from slurmpod.aws.deployment import SessionNodes
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.environment.cluster import Role
from slurmpod.resolve import Resolved, session_names, session_target


def usual_group(resolved: Resolved) -> str:
    """Return the group where users work, or the controller's where there is none."""
    groups = (*resolved.access.session_groups, *_names_of_controllers(resolved))
    return groups[0]


def session_command(nodes: SessionNodes, resolved: Resolved, group: str, number: int) -> list[str]:
    """Return the command that opens a session on the node of a group; they count from 1.

    It needs no more of AWS than the policy for users allows.

    Raises:
        AwsUnavailable: AWS cannot be asked, or the group has no such node in service.
    """
    instances = nodes.running(resolved.name, group)
    if not 1 <= number <= len(instances):
        raise AwsUnavailable(f"{group} has no running node {number}, it has {len(instances)}")
    target = session_target(nodes.cluster_id(resolved.name), group, instances[number - 1])
    document = ["--document-name", session_names(resolved).document]
    return [
        *("aws", "ssm", "start-session", "--region", resolved.region, "--target", target),
        *(document if resolved.access.sessions else ()),
    ]


def _names_of_controllers(resolved: Resolved) -> list[str]:
    return [group.name for group in resolved.groups_with(Role.CONTROLLER)]


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
    """Sessions that go on side by side, and can all be ended at once.

    The plugin of Session Manager wants a terminal even where nobody types, so it gets one of its
    own; it tells no exit status, so what a command prints has to say how it went.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: set[subprocess.Popen[bytes]] = set()
        self._ended = False

    def output(self, session: list[str], patience_seconds: float | None = None) -> str:
        """Open a session and return what was printed in it, once it has ended.

        It is ended once the patience is over. Returns nothing after `end`.
        """
        screen, terminal = pty.openpty()
        with os.fdopen(screen, "rb", buffering=0) as output:
            try:
                process = self._start(session, terminal)
            finally:
                os.close(terminal)
            if process is None:
                return ""
            timer = threading.Timer(patience_seconds or 0, _end, [process])
            if patience_seconds:
                timer.start()
            printed = _read_all(output.fileno())
            process.wait()
            timer.cancel()
            with self._lock:
                self._open.discard(process)
        return printed.decode(errors="replace").replace("\r\n", "\n")

    def end(self) -> None:
        """End all sessions, and with them what runs in them on the nodes; begin no others."""
        with self._lock:
            self._ended = True
            for process in self._open:
                _end(process)

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


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)


def _read_all(screen: int) -> bytes:
    printed = b""
    with suppress(OSError):  # a terminal that everybody has closed
        while chunk := os.read(screen, CHUNK):
            printed += chunk
    return printed
