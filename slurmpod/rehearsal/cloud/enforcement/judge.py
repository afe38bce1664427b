"""Whether an identity may have what a call needs, and if not, why, in AWS's words.

Source of the words: IAM user guide, "Troubleshoot access denied error messages".
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from slurmpod.iam import Policies, Policy, Request, evaluate, policy_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slurmpod.rehearsal.cloud.enforcement.identities import Identity
    from slurmpod.rehearsal.cloud.enforcement.names import Names
    from slurmpod.rehearsal.cloud.enforcement.need import Need


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
