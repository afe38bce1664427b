"""Sessions on nodes of a deployed cluster: interactive ones, and single commands."""

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
    """Return the login group, or the controller's if there is none."""
    groups = (*resolved.access.session_groups, *_names_of_controllers(resolved))
    return groups[0]


def session_request(
    nodes: ClusterView, resolved: Resolved, group: str, number: int
) -> SessionRequest:
    """Return the session request for a node of a group; nodes count from 1.

    Needs only the AWS permissions of the policy for users.

    Raises:
        AwsUnavailable: AWS does not answer, or the group has no such node in service.
    """
    instances = nodes.running(resolved.name, group)
    if not 1 <= number <= len(instances):
        raise AwsUnavailable(f"{group} has no running node {number}, it has {len(instances)}")
    target = session_target(nodes.cluster_id(resolved.name), group, instances[number - 1])
    return SessionRequest(
        target, session_names(resolved).document if resolved.access.sessions else ""
    )


def aws_command(region: str, request: SessionRequest) -> list[str]:
    """Return the AWS CLI command that opens a shell session, to copy and paste."""
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
    """Return the session request that runs `command` in a shell on the node `target`."""
    return SessionRequest(target, DOCUMENT, command)


class NodeSessions:
    """Parallel sessions that can all be ended at once.

    Session Manager's plugin needs a terminal even without input, so each session gets its own. It
    does not report the exit code, so a command has to print it.
    """

    def __init__(self, clients: AwsClients) -> None:
        self._manager = SessionManager(clients)
        self._lock = threading.Lock()
        self._open: set[OpenSession] = set()
        self._ended = False

    def output(self, request: SessionRequest, patience_seconds: float | None = None) -> str:
        """Open a session and return its output once it has ended.

        It is ended when the time is up. Returns an empty text after `end`.

        Raises:
            AwsUnavailable: The session could not be started.
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
        """End all sessions and their commands on the nodes; start no more."""
        with self._lock:
            self._ended = True
            for session in self._open:
                session.end()

    @contextmanager
    def _among_those_open(self, session: OpenSession) -> Iterator[None]:
        with self._lock:
            self._open.add(session)
            if self._ended:  # while it was starting
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
    with suppress(OSError):  # both ends of the terminal are closed
        while chunk := os.read(screen, CHUNK):
            printed += chunk
    return printed
