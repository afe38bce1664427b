"""User commands on a node of a deployed cluster, through Session Manager."""

from __future__ import annotations

import base64
import binascii
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from slurmpod.aws.cluster import ClusterView
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.operations.connect import NodeSessions, command_session
from slurmpod.problems import WorkFailed
from slurmpod.resolve import Resolved, session_target

BEGIN, END, STATUS = "slurmpod-begins", "slurmpod-ends", "slurmpod-status"
"""Markers around the output: a session adds its own lines, and returns no exit code."""

_WRAPPED = f"""\
export PATH=/opt/slurm/bin:$PATH LC_ALL=C.UTF-8
echo {BEGIN}
{{ bash -c "$1" 2>&1; echo "{STATUS} $?"; }} | base64
echo {END}
"""


class NoAnswer(WorkFailed):
    """A session that ended before the command did: the outcome is unknown."""


class CommandFailed(WorkFailed):
    """A command that failed; the text is its output."""


class NodeShell(Protocol):
    """A place to run commands as a user."""

    def run(self, script: str) -> str:
        """Run a bash script and return its output; raises NoAnswer and CommandFailed."""
        ...


@dataclass(frozen=True)
class SessionShell:
    """The node `target`, with a session for each command, as `user`."""

    sessions: NodeSessions
    target: str
    user: str

    def run(self, script: str) -> str:
        """Run a bash script and return its output.

        Raises:
            AwsUnavailable: The session could not be started.
            NoAnswer: The session ended before the script did.
            CommandFailed: The script failed.
        """
        request = command_session(self.target, node_command(script, self.user))
        return read_output(self.sessions.output(request))


class LastingShell:
    """A node that is looked up again after it did not answer: it may have been replaced."""

    def __init__(self, connect: Callable[[], NodeShell]) -> None:
        self._connect = connect
        self._shell: NodeShell | None = None

    def run(self, script: str) -> str:
        """Run a bash script; raises the errors of `connect`, NoAnswer and CommandFailed."""
        self._shell = self._shell or self._connect()
        try:
            return self._shell.run(script)
        except (AwsUnavailable, NoAnswer):
            self._shell = None
            raise


def first_node(nodes: ClusterView, resolved: Resolved, group: str, user: str) -> SessionShell:
    """Return the first running node of a group; raises AwsUnavailable and NoAnswer."""
    running = nodes.running(resolved.name, group)
    if not running:
        raise NoAnswer(f"{group} has no running node")
    target = session_target(nodes.cluster_id(resolved.name), group, running[0])
    return SessionShell(NodeSessions(nodes.clients), target, user)


def node_command(script: str, user: str) -> str:
    """Return the command for a node's shell; its output is encoded to arrive unchanged."""
    become = ["sudo", "--non-interactive", "--set-home", f"--user={user}"]
    return shlex.join([*become, "bash", "-c", _WRAPPED, "bash", script])


def read_output(output: str) -> str:
    """Return a script's output; raises NoAnswer and CommandFailed."""
    _, begin, rest = output.partition(f"{BEGIN}\n")
    encoded, end, _ = rest.partition(f"{END}\n")
    if not (begin and end):
        said = [line for line in output.splitlines() if line.strip()] or ["nothing"]
        raise NoAnswer(f"the node's answer is incomplete: {'; '.join(said[-3:])}")
    try:
        text = base64.b64decode(encoded).decode(errors="replace")
    except binascii.Error as error:
        raise NoAnswer(f"the node's answer is damaged: {error}") from None
    printed, _, status = text.rpartition(f"{STATUS} ")
    if status.strip() != "0":
        raise CommandFailed(printed.strip() or f"exit code {status.strip()}")
    return printed
