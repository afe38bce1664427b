"""Several questions to one node in one session, whose answers are told apart by marks."""

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
"""The word before the name of each answer in what the node prints."""

END = "end"
PATIENCE_SECONDS = 90.0
"""How long a node may take; a session with one that hangs does not end by itself."""


def as_root(script: str) -> str:
    """Return what a shell on a node has to do so that root runs `script`, and tells its end."""
    whole = f"{script.rstrip()}\necho '{MARK} {END}'\n"
    return shlex.join(["sudo", "--non-interactive", "sh", "-c", whole])


def question(name: str, command: str) -> str:
    """Return the lines of a script that give `command`'s output the name `name`."""
    return f"echo '{MARK} {name}'\n{command}\n"


def ask_controller(
    sessions: NodeSessions,
    resolved: Resolved,
    cluster_id: str,
    nodes: Sequence[Node],
    command: str,
) -> Mapping[str, str]:
    """Ask the first controller that answers; raises AwsUnavailable where none does."""
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
    """Open a session in which a node runs a command that `as_root` made; return its answers.

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
    """Open a session with a command that `as_root` made; return what the node answered.

    Raises:
        AwsUnavailable: no session begins, or the node did not answer to the end, or not in time.
    """
    return read_answers(sessions.output(request, patience_seconds), node)


def read_answers(output: str, node: str) -> Mapping[str, str]:
    """Return what stands after each mark, by the name that the mark has; raises AwsUnavailable."""
    answers = Answers(_parts(output.splitlines()), node)
    if END not in answers:
        said = [line for line in output.splitlines() if line.strip()] or ["nothing"]
        raise AwsUnavailable(f"{node} did not answer to the end: {'; '.join(said[-3:])}")
    return answers


class Answers(dict[str, str]):
    """What a node answered, by names; one that is missing raises AwsUnavailable."""

    def __init__(self, parts: Mapping[str, str], node: str) -> None:
        super().__init__(parts)
        self._node = node

    def __missing__(self, name: str) -> str:
        raise AwsUnavailable(f"{self._node} left a question without an answer: {name}")


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
