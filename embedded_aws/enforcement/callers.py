"""Callers of requests on the wire: their user or role with its policies, and the API operation.

Signatures are not recomputed: whoever knows a key id and its session token is believed. moto finds
the operation by botocore's models, as it does for its own services. What these lack is known here:
an operation that has no model is called by the path. Sources: AWS Signature Version 4 (IAM user
guide, "Create a signed AWS API request"), "Policies and permissions in IAM" (kinds of policies) and
"AWS global condition context keys".
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs

from botocore.exceptions import UnknownServiceError
from moto.core.parse import PROTOCOL_PARSERS, RequestParserError
from moto.core.request import Request, determine_request_protocol
from moto.core.routing import get_service_router
from moto.core.utils import get_service_model
from moto.iam.models import iam_backends
from moto.sts.models import sts_backends
from werkzeug.exceptions import NotFound

from embedded_aws.iam import Policy, Principal, policy_of

_SCOPE_PARTS = 5


@dataclass(frozen=True)
class Signature:
    """A request's words about its signer; `token` is that of a session, empty for users."""

    access_key_id: str
    token: str
    region: str
    service: str


def signature_of(environ: Mapping[str, str]) -> Signature | None:
    """Return who signed a WSGI request, in a header or (presigned) in the URL; None: nobody."""
    scope = _in_header(environ.get("HTTP_AUTHORIZATION", ""))
    token = environ.get("HTTP_X_AMZ_SECURITY_TOKEN", "")
    if not scope:
        query = parse_qs(environ.get("QUERY_STRING", ""))
        scope = query.get("X-Amz-Credential", [""])[0]
        token = query.get("X-Amz-Security-Token", [""])[0]
    parts = scope.split("/")
    if len(parts) != _SCOPE_PARTS:
        return None
    access_key_id, _, region, service, _ = parts
    return Signature(access_key_id, token, region, service.lower())


def _in_header(authorization: str) -> str:
    """Return the credential scope: `<key id>/<date>/<region>/<service>/aws4_request`."""
    for part in authorization.replace(",", " ").split():
        name, _, value = part.partition("=")
        if name == "Credential":
            return value
    return ""


_MODELS = {"aps": "amp", "monitoring": "cloudwatch", "eventbridge": "events"}
"""Services that botocore has under another name than the one in signatures."""

_PREFIXES = {"monitoring": "cloudwatch", "eventbridge": "events"}
"""Services that policies have under another name than the one in signatures."""

_PATHS = {
    ("aps", re.compile(r"/workspaces/(?P<workspaceId>[^/]+)/api/v1/remote_write")): "RemoteWrite",
    ("aps", re.compile(r"/workspaces/(?P<workspaceId>[^/]+)/api/v1/query")): "QueryMetrics",
}
"""Operations of Prometheus' own API in Amazon Managed Service for Prometheus (its user guide)."""


@dataclass(frozen=True)
class Call:
    """An API call. `service` is as in policies, `operation` empty where nobody knows it.

    `protocol` is botocore's name for the form of request and answer; `method` is HTTP's.
    """

    service: str
    operation: str
    region: str
    protocol: str
    method: str
    given: Mapping[str, Any]


def call_of(environ: dict[str, Any], signature: Signature) -> Call:
    """Read a WSGI request; whoever answers it can read its body again."""
    body = body_of(environ)
    request = Request({**environ, "wsgi.input": io.BytesIO(body)})
    protocol, operation, given = _by_model(request, signature.service)
    if not operation:
        operation, given = _by_path(signature.service, request.path)
    return Call(
        service=_PREFIXES.get(signature.service, signature.service),
        operation=operation,
        region=signature.region,
        protocol=protocol,
        method=request.method,
        given=given,
    )


def body_of(environ: dict[str, Any]) -> bytes:
    """Return the body of a WSGI request, which can be read again."""
    if environ.get("wsgi.input_terminated"):
        body = environ["wsgi.input"].read()
    else:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    environ["wsgi.input"] = io.BytesIO(body)
    return bytes(body)


def _by_model(request: Request, service: str) -> tuple[str, str, Mapping[str, Any]]:
    """Return protocol, operation and input; nothing for what botocore does not know."""
    name = _MODELS.get(service, service)
    try:
        model = get_service_model(name)
        protocol = determine_request_protocol(model, request.content_type)
        operation, labels = get_service_router(name).match(request)
        given = PROTOCOL_PARSERS[protocol](operation).parse(
            {
                "method": request.method,
                "values": request.values,
                "headers": request.headers,
                "body": request.data,
                "url_path": request.path,
                "url_params": labels,
            }
        )
    except (UnknownServiceError, NotFound, NotImplementedError, RequestParserError):
        return "json", "", {}
    return protocol, str(operation.name), given


def _by_path(service: str, path: str) -> tuple[str, Mapping[str, Any]]:
    for (owner, pattern), operation in _PATHS.items():
        match = pattern.fullmatch(path)
        if owner == service and match:
            return operation, match.groupdict()
    return "", {}


BOUNDARY = "permissions boundary"
SESSION_POLICY = "session policy"


class UnknownCredentials(Exception):
    """No user and no session has this key, or the session has another token."""


@dataclass(frozen=True)
class Identity:
    """A caller: `policies` grant, each of `limits` bounds, `context` is known of the caller."""

    principal: Principal
    policies: tuple[Policy, ...]
    limits: Mapping[str, tuple[Policy, ...]]
    context: Mapping[str, str]


class Identities:
    """The users and sessions of one account of the embedded AWS."""

    def __init__(self, account: str, partition: str) -> None:
        self._account = account
        self._partition = partition

    def find(self, signature: Signature) -> Identity:
        """Return whose credentials these are; raises UnknownCredentials."""
        sessions = sts_backends[self._account][self._partition].assumed_roles
        for session in list(sessions):
            if session.access_key_id == signature.access_key_id:
                if session.session_token != signature.token:
                    break
                return self._of_session(session)
        for user in list(self._iam.users.values()):
            if any(key.access_key_id == signature.access_key_id for key in user.access_keys):
                return self._of_user(user)
        raise UnknownCredentials(signature.access_key_id)

    @property
    def _iam(self) -> Any:
        return iam_backends[self._account][self._partition]

    def _of_session(self, session: Any) -> Identity:
        """Return a role's session; one whose role is gone has no policies, as in AWS."""
        roles = list(self._iam.roles.values())
        role = next((role for role in roles if role.arn == session.role_arn), None)
        limits = dict(self._boundary(role.permissions_boundary_arn)) if role else {}
        if session.policy:
            limits[SESSION_POLICY] = (_parsed("of the session", session.policy),)
        return Identity(
            Principal(arn=session.arn, role_arn=session.role_arn),
            tuple(_policies(role)) if role else (),
            limits,
            {
                "aws:PrincipalAccount": self._account,
                "aws:PrincipalArn": session.role_arn,
                "aws:PrincipalType": "AssumedRole",
                "aws:userid": session.user_id,
                **_tags(role.tags if role else ()),
            },
        )

    def _of_user(self, user: Any) -> Identity:
        groups = self._iam.get_groups_for_user(user.name)
        policies = [policy for holder in (user, *groups) for policy in _policies(holder)]
        arn = str(user.arn)
        return Identity(
            Principal(arn=arn),
            tuple(policies),
            {},
            {
                "aws:PrincipalAccount": self._account,
                "aws:PrincipalArn": arn,
                "aws:PrincipalType": "User",
                "aws:userid": str(user.id),
                "aws:username": str(user.name),
                **_tags(self._iam.list_user_tags(user.name)),
            },
        )

    def _boundary(self, arn: str | None) -> Iterator[tuple[str, tuple[Policy, ...]]]:
        if arn:
            yield BOUNDARY, (_managed(self._iam.get_policy(arn)),)


def _policies(holder: Any) -> Iterator[Policy]:
    """Yield the policies embedded in, and attached to, a user, group or role."""
    for name, text in list(holder.policies.items()):
        yield _parsed(name, text)
    for policy in list(holder.managed_policies.values()):
        yield _managed(policy)


def _managed(policy: Any) -> Policy:
    versions = {version.version_id: version.document for version in policy.versions}
    return _parsed(policy.name, versions[policy.default_version_id])


@lru_cache(maxsize=512)
def _parsed(name: str, text: str) -> Policy:
    return policy_of(name, json.loads(text))


def _tags(tags: Iterable[Mapping[str, str]]) -> dict[str, str]:
    return {f"aws:PrincipalTag/{tag['Key']}": tag["Value"] for tag in tags}
