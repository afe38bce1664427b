"""Check of foreign policies: whether they allow what nodes need.

Conditions on facts that are unknown beforehand, such as the source address of a call, are assumed
to hold: only permissions that are definitely missing are reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from embedded_aws.iam import Policies, Policy, Request, Statement, evaluate
from embedded_aws.iam.conditions import like
from slurmpod.permissions.permission import Grant
from slurmpod.permissions.scope import EXAMPLES
from slurmpod.resolve import Resolved
from slurmpod.value import Value


class Lack(Value):
    """An action of a grant that policies do not allow, the resources concerned, and the reason."""

    grant: Grant
    action: str
    resources: tuple[str, ...]
    because: str


def lacking(
    grants: Iterable[Grant], policies: Sequence[Policy], resolved: Resolved
) -> Iterator[Lack]:
    """Yield the permissions that nodes need and `policies` do not allow."""
    of_every_call = _global_condition_keys(resolved)
    for grant in grants:
        context = {**of_every_call, **_context(grant)}
        known = {key.lower() for key in context}
        assumed = [_assuming_the_unknown(policy, known) for policy in policies]
        for action in grant.permission.actions:
            denied = {}
            for resource in grant.target.resources:
                if reason := _denial(action, resource, context, assumed):
                    denied[resource] = reason
            if denied:
                yield Lack(grant, action, tuple(denied), next(iter(denied.values())))


def _global_condition_keys(resolved: Resolved) -> Mapping[str, str]:
    """Return the condition keys of every call of a node (IAM user guide, global condition keys)."""
    return {
        "aws:PrincipalAccount": resolved.account,
        "aws:RequestedRegion": resolved.region,
        "aws:SecureTransport": "true",
    }


def _context(grant: Grant) -> Mapping[str, str]:
    """Return condition values with which the grant's own conditions hold."""
    conditions = grant.target.conditions.values()
    return {key: value for keys in conditions for key, value in keys.items()}


def _assuming_the_unknown(policy: Policy, known: set[str]) -> Policy:
    """Return a policy without conditions on unknown keys and denials that depend on them."""
    return Policy(policy.name, tuple(_kept(policy.statements, known)))


def _kept(statements: Iterable[Statement], known: set[str]) -> Iterator[Statement]:
    for statement in statements:
        conditions = tuple(each for each in statement.conditions if each.key.lower() in known)
        if statement.allows or len(conditions) == len(statement.conditions):
            yield replace(statement, conditions=conditions)


def _denial(
    action: str, resource: str, context: Mapping[str, str], policies: Sequence[Policy]
) -> str | None:
    """Return why an action is not allowed on any resource that the text may represent."""
    because = None
    for candidate in _candidates(resource, policies):
        decision = evaluate(Request(action, candidate, context), Policies(policies))
        if decision.allowed:
            return None
        because = because or decision.because
    return because


def _candidates(resource: str, policies: Sequence[Policy]) -> Iterator[str]:
    """Yield candidates for a resource: if its id is not known yet, those that policies name."""
    form = next((form for form in EXAMPLES if resource.endswith(form)), None)
    if form is None:
        yield resource
        return
    yield resource.removesuffix(form) + EXAMPLES[form]
    for policy in policies:
        for statement in policy.statements:
            for named in statement.resources or ():
                if like(resource, named, {}):
                    yield named
