"""Authorization of requests to the embedded AWS: a request passes, or is refused as AWS would.

The administrator, whose credentials the embedded AWS hands out and its platform uses, is allowed
everything, and so are the CDK bootstrap roles that the CDK CLI assumes for the administrator.
Source of the messages: IAM user guide, "Troubleshoot access denied error messages".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache

from embedded_aws.answers import Answer, access_denied, flawed, unknown_credentials, unsigned
from embedded_aws.calls import Call, Signature
from embedded_aws.clients import access_key_id
from embedded_aws.enforcement.callers import Identities, Identity, UnknownCredentials
from embedded_aws.enforcement.endpoints import VpcEndpoints
from embedded_aws.enforcement.needs import needs_of
from embedded_aws.enforcement.resource_needs import Names, Need
from embedded_aws.iam import Policies, Policy, Request, evaluate, policy_of

_DEPLOYERS = re.compile(
    r".*/cdk-[a-z0-9]+-(deploy|file-publishing|image-publishing|lookup)-role-.*"
)

_ASSUME_ROLE = "sts:AssumeRole"


class Gate:
    """Authorizes the requests to one account."""

    def __init__(self, names: Names, endpoints: VpcEndpoints) -> None:
        self._names = names
        self._endpoints = endpoints
        self._administrator = access_key_id(names.account)
        self._identities = Identities(names.account, names.partition)

    def refusal(self, signature: Signature | None, call: Call) -> Answer | None:
        """Return the response to a call that is refused, or None if it may pass.

        The checks run in AWS's order: signature, form of the request, permissions.
        """
        if signature is None:
            return unsigned()
        try:
            identity = self._identity(signature)
        except UnknownCredentials:
            return unknown_credentials(call)
        if call.flaw:
            return flawed(call)
        message = self._denial(identity, call) if identity else None
        return access_denied(call, message) if message else None

    def _identity(self, signature: Signature) -> Identity | None:
        """Return the signer, None for administrators; raises UnknownCredentials."""
        if signature.access_key_id == self._administrator:
            return None
        identity = self._identities.find(signature)
        return None if _DEPLOYERS.fullmatch(identity.principal.role_arn or "") else identity

    def _denial(self, identity: Identity, call: Call) -> str | None:
        judge = Judge(self._names, call.region)
        passed = self._endpoints.passed(identity, call.service, call.region)
        asked = (
            judge.refusal(passed if _is_of(call.service, need) else identity, [need])
            for need in needs_of(call, self._names)
        )
        return next(filter(None, asked), None)


class Judge:
    """Evaluates the policies of identities and resources."""

    def __init__(self, names: Names, region: str) -> None:
        self._names = names
        self._region = region

    def refusal(self, identity: Identity, needs: Iterable[Need]) -> str | None:
        """Return why the first denied action is denied, or None if all are allowed."""
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
            resource_decides=_resource_decides(need),
        )
        decision = evaluate(request, policies)
        if decision.allowed:
            return None
        if decision.explicit:
            return f"with an explicit deny in {_denying(request, policies)}"
        return f"because no {_missing(request, policies)} allows the {need.action} action"

    def _circumstances(self) -> dict[str, str]:
        """Return the condition keys of every request; all requests count as encrypted.

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


def _is_of(service: str, need: Need) -> bool:
    return need.action.startswith(f"{service}:")


def _resource_decides(need: Need) -> bool:
    return need.action == _ASSUME_ROLE or need.resource.split(":")[2:3] == ["kms"]


def _denying(request: Request, policies: Policies) -> str:
    """Return the kind of policy that contains the denying statement."""
    if evaluate(request, Policies(policies.identity)).explicit:
        return "an identity-based policy"
    for name, limit in policies.limits.items():
        if evaluate(request, Policies(limits={name: limit})).explicit:
            return f"a {name}"
    return "the role trust policy" if request.action == _ASSUME_ROLE else "a resource-based policy"


def _missing(request: Request, policies: Policies) -> str:
    """Return the kind of policy that lacks an allowing statement."""
    if not evaluate(request, Policies(policies.identity)).allowed:
        return "identity-based policy"
    for name, limit in policies.limits.items():
        if not evaluate(request, Policies(policies.identity, {name: limit})).allowed:
            return name
    return "role trust policy" if request.action == _ASSUME_ROLE else "resource-based policy"


def _shown(need: Need) -> str:
    """Return a resource as the services show it: S3 puts it in quotation marks."""
    return f'"{need.resource}"' if need.action.startswith("s3:") else need.resource
