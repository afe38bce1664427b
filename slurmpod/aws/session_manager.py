"""Sessions of Systems Manager on nodes: AWS begins them, and its plugin carries them."""

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
"""What a terminal sends for Ctrl-C, Ctrl-\\ and Ctrl-Z."""


@dataclass(frozen=True)
class SessionRequest:
    """What a session is for: a node, the session's document, and a command for that document.

    Without a document it is the account's own for shells.
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
        """Begin a session in a terminal of its own or, with None, in ours; use it with `with`.

        In ours, Ctrl-C and its like are for what runs on the node, from before the plugin starts:
        here they would end the session. The AWS CLI does the same (1.46, compat.py).

        Raises:
            AwsUnavailable: The plugin cannot be run, or AWS begins no session.
        """
        plugin = SessionPlugin.found()  # before AWS begins what nobody could carry
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
    """A session that goes on. At the end of `with` AWS ends it, unless that is done already."""

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
        """Wait for the end; return the plugin's exit status, which tells nothing of the node."""
        return self._process.wait()

    def end(self) -> None:
        """Let the plugin end now; where it has a terminal of its own, with all that it started."""
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
    """Let AWS end a session; one that it does not end now ends when nothing happens in it."""
    with suppress(AwsUnavailable), as_unavailable("end a session"):
        client.terminate_session(SessionId=id_)
