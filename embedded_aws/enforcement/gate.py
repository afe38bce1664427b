"""The way into the embedded AWS: lets a request pass, or answers as AWS does to who may not.

The administrator, whose credentials the embedded AWS hands out and its platform uses, may
everything, and so may the roles of the CDK's bootstrap that its command line assumes for the
administrator. Sources of the answers: IAM user guide, "Troubleshoot access denied error messages";
Smithy specifications of the AWS protocols; API references ("Common Errors", S3's and EC2's error
codes).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from xml.sax.saxutils import escape

from embedded_aws.clients import access_key_id
from embedded_aws.enforcement.callers import (
    Call,
    Identities,
    Identity,
    UnknownCredentials,
    call_of,
    signature_of,
)
from embedded_aws.enforcement.needs import needs_of
from embedded_aws.enforcement.resource_needs import Names, Need
from embedded_aws.iam import Policies, Policy, Request, evaluate, policy_of

_DEPLOYERS = re.compile(
    r".*/cdk-[a-z0-9]+-(deploy|file-publishing|image-publishing|lookup)-role-.*"
)


class Gate:
    """Judges the requests to one account."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._administrator = access_key_id(names.account)
        self._identities = Identities(names.account, names.partition)

    def refusal(self, environ: dict[str, Any]) -> Denial | None:
        """Return the answer to a WSGI request that must not pass; None for one that may."""
        signature = signature_of(environ)
        if signature is None:
            return unsigned()
        if signature.access_key_id == self._administrator:
            return None
        try:
            identity = self._identities.find(signature)
        except UnknownCredentials:
            return unknown_credentials(call_of(environ, signature))
        if _DEPLOYERS.fullmatch(identity.principal.role_arn or ""):
            return None
        call = call_of(environ, signature)
        needs = needs_of(call, self._names)
        message = Judge(self._names, call.region).refusal(identity, needs)
        return access_denied(call, message) if message else None


class Judge:
    """Decides by an identity's policies and those of the resources."""

    def __init__(self, names: Names, region: str) -> None:
        self._names = names
        self._region = region

    def refusal(self, identity: Identity, needs: Iterable[Need]) -> str | None:
        """Return why the first thing that is not allowed is not; None when all are."""
        for need in needs:
            reason = self._reason(identity, need)
            if reason:
                who = f"User: {identity.principal.arn} is not authorized to perform:"
                return f"{who} {need.action} on resource: {_shown(need)} {reason}"
        return None

    def _reason(self, identity: Identity, need: Need) -> str | None:
        request = Request(
            need.action,
            need.resource,
            {**self._circumstances(), **identity.context, **need.context},
            identity.principal,
        )
        policies = Policies(
            identity.policies,
            identity.limits,
            resource=self._resource_policy(need),
            resource_decides=need.resource.split(":")[2:3] == ["kms"],
        )
        decision = evaluate(request, policies)
        if decision.allowed:
            return None
        if decision.explicit:
            return f"with an explicit deny in {_denying(request, policies)}"
        return f"because no {_missing(request, policies)} allows the {need.action} action"

    def _circumstances(self) -> dict[str, str]:
        """Return what holds for every request; all of them count as encrypted ones.

        The rehearsal speaks HTTP on the loopback interface where AWS tools speak HTTPS to AWS.
        """
        now = datetime.now(UTC)
        return {
            "aws:CurrentTime": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "aws:EpochTime": str(int(now.timestamp())),
            "aws:RequestedRegion": self._region,
            "aws:ResourceAccount": self._names.account,
            "aws:SecureTransport": "true",
        }

    def _resource_policy(self, need: Need) -> Policy | None:
        text = self._names.policy_of(need.resource)
        return _parsed(text) if text else None


@lru_cache(maxsize=256)
def _parsed(text: str) -> Policy:
    return policy_of("of the resource", json.loads(text))


def _denying(request: Request, policies: Policies) -> str:
    """Return which kind of policy has the statement that denies."""
    if evaluate(request, Policies(policies.identity)).explicit:
        return "an identity-based policy"
    for name, limit in policies.limits.items():
        if evaluate(request, Policies(limits={name: limit})).explicit:
            return f"a {name}"
    return "a resource-based policy"


def _missing(request: Request, policies: Policies) -> str:
    """Return which kind of policy lacks a statement that allows."""
    if not evaluate(request, Policies(policies.identity)).allowed:
        return "identity-based policy"
    for name, limit in policies.limits.items():
        if not evaluate(request, replace(policies, limits={name: limit}, resource=None)).allowed:
            return name
    return "resource-based policy"


def _shown(need: Need) -> str:
    """Return a resource as the services show it: S3 puts it in quotation marks."""
    return f'"{need.resource}"' if need.action.startswith("s3:") else need.resource


REQUEST_ID = "00000000-0000-0000-0000-000000000000"
_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_EC2_PREAMBLE = "You are not authorized to perform this operation. "


@dataclass(frozen=True)
class Denial:
    """An answer to a request that is refused."""

    status: str
    content_type: str
    error: str
    body: bytes


def access_denied(call: Call, message: str) -> Denial:
    """Return the answer to a call that policies do not allow."""
    if call.service == "ec2":
        return _denial(call, "403 Forbidden", "UnauthorizedOperation", _EC2_PREAMBLE + message)
    if call.protocol in ("json", "rest-json"):
        status = "400 Bad Request" if call.protocol == "json" else "403 Forbidden"
        return _denial(call, status, "AccessDeniedException", message)
    code = "AuthorizationError" if call.service == "sns" else "AccessDenied"
    return _denial(call, "403 Forbidden", code, message)


def unknown_credentials(call: Call) -> Denial:
    """Return the answer to a call with credentials that nobody has."""
    if call.service == "s3":
        message = "The AWS Access Key Id you provided does not exist in our records."
        return _denial(call, "403 Forbidden", "InvalidAccessKeyId", message)
    message = "The security token included in the request is invalid."
    if call.service == "ec2":
        message = "AWS was not able to validate the provided access credentials"
        return _denial(call, "401 Unauthorized", "AuthFailure", message)
    if call.protocol in ("json", "rest-json"):
        return _denial(call, "400 Bad Request", "UnrecognizedClientException", message)
    return _denial(call, "403 Forbidden", "InvalidClientTokenId", message)


def unsigned() -> Denial:
    """Return the answer to a request that nobody signed: nothing here is open to all."""
    code, message = "AccessDenied", "Access Denied"
    return Denial("403 Forbidden", "application/xml", code, _s3_error(code, message))


def _denial(call: Call, status: str, code: str, message: str) -> Denial:
    if call.protocol in ("json", "rest-json"):
        body = json.dumps({"__type": code, "message": message, "Message": message}).encode()
        return Denial(status, "application/x-amz-json-1.1", code, body)
    if call.method == "HEAD":
        return Denial(status, "application/xml", code, b"")
    if call.service == "s3":
        return Denial(status, "application/xml", code, _s3_error(code, message))
    error = f"<Code>{code}</Code><Message>{escape(message)}</Message>"
    if call.service == "ec2":
        text = f"<Response><Errors><Error>{error}</Error></Errors>"
        text += f"<RequestID>{REQUEST_ID}</RequestID></Response>"
    else:
        text = f"<ErrorResponse><Error><Type>Sender</Type>{error}</Error>"
        text += f"<RequestId>{REQUEST_ID}</RequestId></ErrorResponse>"
    return Denial(status, "text/xml", code, (_XML + text).encode())


def _s3_error(code: str, message: str) -> bytes:
    error = f"<Code>{code}</Code><Message>{escape(message)}</Message>"
    text = f"<Error>{error}<RequestId>{REQUEST_ID}</RequestId><HostId>rehearsal</HostId></Error>"
    return (_XML + text).encode()
