"""Requests of this process to its own server, answered directly without the network.

CloudFormation and the platform make several hundred calls for each environment. Reading and
writing HTTP, and a thread for each request, took a third of that.
"""

from __future__ import annotations

import contextvars
import io
import sys
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from moto.core.request import (
    PRESERVED_HEADER_NAMES_ENVIRON_KEY,
    environ_key_for_header,
    should_preserve_original_header_name,
)
from urllib3 import HTTPResponse

Wsgi = Any
"""A WSGI application."""


class DirectCalls:
    """Answers requests of boto3 clients, as a handler of botocore's `before-send`."""

    def __init__(self, application: Wsgi) -> None:
        self._application = application

    def answer(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        """Return the application's response, computed in a separate context."""
        return contextvars.Context().run(self._answered, request)

    def _answered(self, request: AWSPreparedRequest) -> AWSResponse:
        begun: list[Any] = []
        parts = self._application(environ_of(request), lambda *start: begun.extend(start))
        status, headers = begun[:2]
        body = b"" if request.method == "HEAD" else b"".join(parts)
        raw = HTTPResponse(io.BytesIO(body), preload_content=False)
        return AWSResponse(request.url, int(status[:3]), HTTPHeaders.from_pairs(headers), raw)


def environ_of(request: AWSPreparedRequest) -> dict[str, Any]:
    """Return a request as moto's server would pass it to a WSGI application."""
    url, body = urlsplit(request.url), _body(request.body)
    environ = {
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": url.scheme,
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(url.path or "/").decode("latin-1"),
        "QUERY_STRING": url.query,
        "RAW_URI": f"{url.path or '/'}?{url.query}" if url.query else url.path or "/",
        "REMOTE_ADDR": url.hostname,
        "SERVER_NAME": url.hostname,
        "SERVER_PORT": str(url.port),
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": url.netloc,
    }
    texts = {name: _text(value) for name, value in request.headers.items()}
    environ |= {environ_key_for_header(name): text for name, text in texts.items()}
    environ[PRESERVED_HEADER_NAMES_ENVIRON_KEY] = {
        environ_key_for_header(name): name
        for name in texts
        if should_preserve_original_header_name(name)
    }
    return {**environ, "CONTENT_LENGTH": str(len(body))}


def _body(body: Any) -> bytes:
    content = body.read() if hasattr(body, "read") else body or b""
    return content.encode() if isinstance(content, str) else bytes(content)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
