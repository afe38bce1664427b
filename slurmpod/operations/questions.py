"""Several queries to one node in one session, with marks between the answers."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from slurmpod.aws.cluster import IN_SERVICE, Node
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.session_manager import SessionRequest
from slurmpod.environment.cluster import Role
from slurmpod.operations.connect import NodeSessions, command_session
from slurmpod.resolve import Resolved, session_target

MARK = "slurmpod-asks"
"""The word before the name of each answer in the node's output."""

END = "end"
PATIENCE_SECONDS = 90.0
"""How long a node may take; a session with one that hangs does not end by itself."""


def as_root(script: str) -> str:
    """Return the command for a node's shell to run `script` as root, with a mark at its end."""
    whole = f"{script.rstrip()}\necho '{MARK} {END}'\n"
    return shlex.join(["sudo", "--non-interactive", "sh", "-c", whole])


def question(name: str, command: str) -> str:
    """Return the script lines that label `command`'s output with `name`."""
    return f"echo '{MARK} {name}'\n{command}\n"


def ask_controller(
    sessions: NodeSessions,
    resolved: Resolved,
    cluster_id: str,
    nodes: Sequence[Node],
    command: str,
) -> Mapping[str, str]:
    """Query the first controller that answers; raises AwsUnavailable if none does."""
    groups = {group.name for group in resolved.groups_with(Role.CONTROLLER)}
    refusal = AwsUnavailable("no controller is in service")
    for node in nodes:
        if node.group in groups and node.status == IN_SERVICE:
            try:
                return ask_node(sessions, cluster_id, node, command)
            except AwsUnavailable as error:
                refusal = error
    raise refusal


def ask_node(
    sessions: NodeSessions, cluster_id: str, node: Node, command: str
) -> Mapping[str, str]:
    """Open a session to run a command from `as_root` on a node; return its answers.

    Raises:
        AwsUnavailable: as `ask` does.
    """
    target = session_target(cluster_id, node.group, node.instance_id)
    return ask(sessions, command_session(target, command), node.name)


def ask(
    sessions: NodeSessions,
    request: SessionRequest,
    node: str,
    patience_seconds: float = PATIENCE_SECONDS,
) -> Mapping[str, str]:
    """Open a session with a command from `as_root`; return the node's answers.

    Raises:
        AwsUnavailable: the session did not start, or the answer was incomplete or late.
    """
    return read_answers(sessions.output(request, patience_seconds), node)


def read_answers(output: str, node: str) -> Mapping[str, str]:
    """Return the text after each mark, by the mark's name; raises AwsUnavailable."""
    answers = Answers(_parts(output.splitlines()), node)
    if END not in answers:
        said = [line for line in output.splitlines() if line.strip()] or ["nothing"]
        raise AwsUnavailable(f"{node} gave an incomplete answer: {'; '.join(said[-3:])}")
    return answers


class Answers(dict[str, str]):
    """A node's answers by name; a missing one raises AwsUnavailable."""

    def __init__(self, parts: Mapping[str, str], node: str) -> None:
        super().__init__(parts)
        self._node = node

    def __missing__(self, name: str) -> str:
        raise AwsUnavailable(f"{self._node} did not answer a query: {name}")


def _parts(lines: Sequence[str]) -> dict[str, str]:
    parts: dict[str, str] = {}
    name = ""
    for line in lines:
        mark, _, rest = line.partition(" ")
        if mark == MARK:
            name = rest.strip()
            parts[name] = ""
        elif name:
            parts[name] += f"{line}\n"
    return parts
