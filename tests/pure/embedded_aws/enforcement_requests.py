"""Requests as the real SDK writes them, as the embedded AWS gets them; none is sent."""

from __future__ import annotations

import io
from functools import cache
from typing import Any
from urllib.parse import unquote, urlsplit

import boto3
from botocore.config import Config

from embedded_aws.calls import Call, call_of, signature_of

ACCOUNT = "123456789012"
REGION = "us-west-2"
_CONFIG = Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"})
_SESSION = boto3.session.Session(
    aws_access_key_id="ASIAEXAMPLE",
    aws_secret_access_key="secret",
    aws_session_token="token",
    region_name=REGION,
)


class PlainNames:
    """ARNs that show how they came to be."""

    account = ACCOUNT
    partition = "aws"

    def __init__(self) -> None:
        self.sessions = self
        self.secrets: dict[str, Any] = {}
        self.topics: dict[str, Any] = {}
        self.buckets: dict[str, Any] = {}
        self.policies: dict[str, str] = {}

    def of(self, kind: str, region: str, name: str) -> str:
        return {"parameter": name.strip("/"), "": name}.get(kind, f"{kind} {name} in {region}")

    def key(self, region: str, name: str) -> str:
        return f"arn:aws:kms:{region}:{ACCOUNT}:key/{name}"

    def secret(self, region: str, name: str) -> Any:
        return self.secrets.get(name)

    def bucket(self, name: str) -> Any:
        return self.buckets.get(name)

    def topic(self, arn: str) -> Any:
        return self.topics.get(arn)

    def tags(self, session_id: str) -> dict[str, str]:
        return {"session-id": f"owner of {session_id}"}

    def policy_of(self, arn: str) -> str | None:
        return self.policies.get(arn)


def environ_of(service: str, operation: str, **given: Any) -> dict[str, Any]:
    """Return the WSGI environment of a call of the SDK."""
    request = _request(service, operation, **given)
    return environ_of_request(request.method, request.url, request.headers, request.body)


class _Written(Exception):
    """A request is ready to be sent."""


def _request(service: str, operation: str, **given: Any) -> Any:
    try:
        getattr(_client(service), operation)(**given)
    except _Written as written:
        return written.args[0]
    raise AssertionError("nothing was written")


@cache
def _client(service: str) -> Any:
    client: Any = _SESSION.client(service, endpoint_url="http://localhost:1", config=_CONFIG)  # type: ignore[call-overload]
    client.meta.events.register("before-send", _stop)
    return client


def _stop(request: Any, **_: Any) -> None:
    raise _Written(request)


def environ_of_request(method: str, url: str, headers: Any, body: Any) -> dict[str, Any]:
    parts = urlsplit(url)
    content = body.read() if hasattr(body, "read") else body or b""
    content = content.encode() if isinstance(content, str) else content
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": unquote(parts.path),
        "RAW_URI": parts.path + (f"?{parts.query}" if parts.query else ""),
        "QUERY_STRING": parts.query,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "1",
        "HTTP_HOST": parts.netloc,
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(content),
        "CONTENT_LENGTH": str(len(content)),
    }
    for name, value in headers.items():
        text = value.decode() if isinstance(value, bytes) else str(value)
        key = name.upper().replace("-", "_")
        environ[key if key.startswith("CONTENT_") else f"HTTP_{key}"] = text
    return environ


def call(service: str, operation: str, **given: Any) -> Call:
    """Return what the gate makes of a call of the SDK."""
    environ = environ_of(service, operation, **given)
    signature = signature_of(environ)
    assert signature
    return call_of(environ, signature)
