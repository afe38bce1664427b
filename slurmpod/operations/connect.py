"""Sessions on nodes of a deployed cluster: those of people, and commands of ours through one."""

from __future__ import annotations

import os
import pty
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.cluster import ClusterView
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.session_manager import OpenSession, SessionManager, SessionRequest
from slurmpod.environment.cluster import Role
from slurmpod.resolve import Resolved, session_names, session_target


def usual_group(resolved: Resolved) -> str:
    """Return the group where users work, or the controller's where there is none."""
    groups = (*resolved.access.session_groups, *_names_of_controllers(resolved))
    return groups[0]


def session_request(
    nodes: ClusterView, resolved: Resolved, group: str, number: int
) -> SessionRequest:
    """Return the session of people on the node of a group; nodes count from 1.

    It needs no more of AWS than the policy for users allows.

    Raises:
        AwsUnavailable: AWS cannot be asked, or the group has no such node in service.
    """
    instances = nodes.running(resolved.name, group)
    if not 1 <= number <= len(instances):
        raise AwsUnavailable(f"{group} has no running node {number}, it has {len(instances)}")
    target = session_target(nodes.cluster_id(resolved.name), group, instances[number - 1])
    return SessionRequest(
        target, session_names(resolved).document if resolved.access.sessions else ""
    )


def aws_command(region: str, request: SessionRequest) -> list[str]:
    """Return the command of the AWS CLI that opens the session of a shell, for people to copy."""
    document = ["--document-name", request.document] if request.document else []
    return [
        *("aws", "ssm", "start-session", "--region", region, "--target", request.target),
        *document,
    ]


def _names_of_controllers(resolved: Resolved) -> list[str]:
    return [group.name for group in resolved.groups_with(Role.CONTROLLER)]


DOCUMENT = "AWS-StartNonInteractiveCommand"
"""AWS's session document that runs one command and ends."""

CHUNK = 65_536


def command_session(target: str, command: str) -> SessionRequest:
    """Return the session in which a shell on the node `target` runs `command`."""
    return SessionRequest(target, DOCUMENT, command)


class NodeSessions:
    """Sessions that go on side by side, and can all be ended at once.

    The plugin of Session Manager wants a terminal even where nobody types, so it gets one of its
    own; it tells no exit status, so what a command prints has to say how it went.
    """

    def __init__(self, clients: AwsClients) -> None:
        self._manager = SessionManager(clients)
        self._lock = threading.Lock()
        self._open: set[OpenSession] = set()
        self._ended = False

    def output(self, request: SessionRequest, patience_seconds: float | None = None) -> str:
        """Open a session and return what was printed in it, once it has ended.

        It is ended once the patience is over. Returns nothing after `end`.

        Raises:
            AwsUnavailable: No session begins.
        """
        if self._ended:
            return ""
        screen, terminal = pty.openpty()
        with os.fdopen(screen, "rb", buffering=0) as output:
            try:
                session = self._manager.open(request, terminal)
            finally:
                os.close(terminal)
            with session, self._among_those_open(session), _ended_after(patience_seconds, session):
                printed = _read_all(output.fileno())
                session.wait()
        return printed.decode(errors="replace").replace("\r\n", "\n")

    def end(self) -> None:
        """End all sessions, and with them what runs in them on the nodes; begin no others."""
        with self._lock:
            self._ended = True
            for session in self._open:
                session.end()

    @contextmanager
    def _among_those_open(self, session: OpenSession) -> Iterator[None]:
        with self._lock:
            self._open.add(session)
            if self._ended:  # while it began
                session.end()
        try:
            yield
        finally:
            with self._lock:
                self._open.discard(session)


@contextmanager
def _ended_after(seconds: float | None, session: OpenSession) -> Iterator[None]:
    timer = threading.Timer(seconds or 0, session.end)
    if seconds:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _read_all(screen: int) -> bytes:
    printed = b""
    with suppress(OSError):  # a terminal that everybody has closed
        while chunk := os.read(screen, CHUNK):
            printed += chunk
    return printed
