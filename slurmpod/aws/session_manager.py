"""Session Manager sessions on nodes: AWS starts them, and its plugin connects them."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import AwsUnavailable, as_unavailable
from slurmpod.aws.session_plugin import SessionPlugin

if TYPE_CHECKING:
    from types_boto3_ssm import SSMClient

KEYS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
"""The control characters of Ctrl-C, Ctrl-\\ and Ctrl-Z."""


@dataclass(frozen=True)
class SessionRequest:
    """A session to open: the node, the session document, and the document's command.

    Without a document, the account's default shell document is used.
    """

    target: str
    document: str = ""
    command: str = ""

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of StartSession."""
        document = {"DocumentName": self.document} if self.document else {}
        command = {"Parameters": {"command": [self.command]}} if self.command else {}
        return {"Target": self.target, **document, **command}


@dataclass(frozen=True)
class SessionManager:
    """Session Manager in one account and Region."""

    clients: AwsClients

    def open(self, request: SessionRequest, terminal: int | None = None) -> OpenSession:
        """Start a session in its own terminal, or in the current one if `terminal` is None.

        Use it with `with`. In the current terminal, Ctrl-C and its like go to the node's program
        from the start: they would end the session. The AWS CLI does the same (1.46, compat.py).

        Raises:
            AwsUnavailable: The plugin cannot be run, or AWS does not start a session.
        """
        plugin = SessionPlugin.found()  # before AWS starts a session that could not connect
        with as_unavailable(f"open a session on {request.target}"):
            client = self.clients.ssm
            begun = client.start_session(**request.parameters)
        answer = {
            "SessionId": begun["SessionId"],
            "TokenValue": begun["TokenValue"],
            "StreamUrl": begun["StreamUrl"],
        }
        place = (client.meta.region_name, client.meta.endpoint_url)
        with ExitStack() as until_its_end:
            if terminal is None:
                until_its_end.enter_context(_keys_for_the_node())
            try:
                process = plugin.start(answer, request.parameters, *place, terminal)
            except BaseException:
                _terminate(client, begun["SessionId"])
                raise
            rest = until_its_end.pop_all()
        return OpenSession(
            client, begun["SessionId"], process, rest, leads_group=terminal is not None
        )


class OpenSession:
    """A running session. AWS ends it at the end of `with`, unless it has ended already."""

    def __init__(
        self,
        client: SSMClient,
        id_: str,
        process: subprocess.Popen[bytes],
        until_its_end: ExitStack,
        *,
        leads_group: bool,
    ) -> None:
        self._client = client
        self._id = id_
        self._process = process
        self._until_its_end = until_its_end
        self._leads_group = leads_group

    def wait(self) -> int:
        """Wait for the end; return the plugin's exit code, not that of the command on the node."""
        return self._process.wait()

    def end(self) -> None:
        """Stop the plugin; in its own terminal, with all processes that it started."""
        if not self._leads_group:
            self._process.terminate()
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._until_its_end:
            if self._process.poll() != 0:
                self.end()
                _terminate(self._client, self._id)


@contextmanager
def _keys_for_the_node() -> Iterator[None]:
    before = {number: signal.signal(number, signal.SIG_IGN) for number in KEYS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _terminate(client: SSMClient, id_: str) -> None:
    """Have AWS end a session; if that fails, it ends by its idle timeout."""
    with suppress(AwsUnavailable), as_unavailable("end a session"):
        client.terminate_session(SessionId=id_)
