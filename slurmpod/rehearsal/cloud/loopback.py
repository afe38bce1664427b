"""An HTTP server on a loopback port, in threads of this process."""

from __future__ import annotations

import socket
import threading
from typing import Any

from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

_HOST = "127.0.0.1"
_BACKLOG = 128


class PortInUse(Exception):
    """The requested port is taken."""


class LoopbackServer:
    """Owns a port of 127.0.0.1 from the start; without a number the kernel chooses a free one."""

    def __init__(self, port: int | None) -> None:
        self._socket = _bind(port)
        self._server: BaseWSGIServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """The port's number."""
        return int(self._socket.getsockname()[1])

    def serve(self, application: Any, handler: type[WSGIRequestHandler]) -> None:
        """Begin to answer requests with a WSGI application, each in a thread of its own."""
        self._server = make_server(
            _HOST,
            self.port,
            application,
            threaded=True,
            request_handler=handler,
            fd=self._socket.fileno(),
        )
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="embedded-aws", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop answering and free the port."""
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()
        self._socket.close()


def _bind(port: int | None) -> socket.socket:
    try:
        return socket.create_server((_HOST, port or 0), backlog=_BACKLOG)
    except OSError as error:
        raise PortInUse(
            f"Port {port} of {_HOST} is not free ({error.strerror}). "
            "Choose another port, leave it out to have a free one chosen, or end the program that "
            f"uses it; `ss -ltnp sport = :{port}` shows which."
        ) from error
