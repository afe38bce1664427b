"""The data channels of Session Manager, between a user's computer and the agent on a node.

In AWS a channel is a WebSocket, which the plugin opens with the session's token. Here there is no
agent: the stand-in for the plugin gets what the agent would know by HTTP, and runs the session
itself. The session ends when the channel is closed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from embedded_aws.ssm_sessions import CHANNELS, SessionManager


class DataChannels:
    """Serves the channels of all sessions: a POST opens one, and a DELETE closes it.

    The requests are unsigned; the body is the session's token.
    """

    def __init__(self, sessions: SessionManager) -> None:
        self._sessions = sessions

    def answer(
        self, environ: Mapping[str, Any], start_response: Callable[..., Any]
    ) -> list[bytes] | None:
        """Answer a WSGI request to a channel; return None for a request to anything else."""
        if not environ["PATH_INFO"].startswith(CHANNELS):
            return None
        session_id = environ["PATH_INFO"].removeprefix(CHANNELS)
        token = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)).decode()
        response = self._response(environ["REQUEST_METHOD"], session_id, token)
        status = "403 Forbidden" if response is None else "200 OK"
        body = json.dumps(response or {}).encode()
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        start_response(status, headers)
        return [body]

    def _response(self, method: str, session_id: str, token: str) -> Mapping[str, Any] | None:
        if method == "DELETE":
            return {} if self._sessions.end(session_id, token) else None
        seen = self._sessions.seen_by_agent(session_id, token)
        return asdict(seen) if seen else None
