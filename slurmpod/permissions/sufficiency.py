"""Check of foreign policies: whether they let nodes do what they must.

What a policy asks of circumstances that nobody can know beforehand (from which address a call
comes, say) is taken to be as it must be: only what is surely lacking is reported.
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
    """One action of a grant that policies do not allow, on these of its resources, and why not."""

    grant: Grant
    action: str
    resources: tuple[str, ...]
    because: str


def lacking(
    grants: Iterable[Grant], policies: Sequence[Policy], resolved: Resolved
) -> Iterator[Lack]:
    """Yield what `policies` do not allow of what nodes need."""
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
    """Return what is true of every call of a node (IAM user guide, global condition keys)."""
    return {
        "aws:PrincipalAccount": resolved.account,
        "aws:RequestedRegion": resolved.region,
        "aws:SecureTransport": "true",
    }


def _context(grant: Grant) -> Mapping[str, str]:
    """Return what a call has for the grant's own conditions to hold, stars standing for all."""
    conditions = grant.target.conditions.values()
    return {key: value for keys in conditions for key, value in keys.items()}


def _assuming_the_unknown(policy: Policy, known: set[str]) -> Policy:
    """Return a policy without conditions on unknown keys, and without what they would deny."""
    return Policy(policy.name, tuple(_kept(policy.statements, known)))


def _kept(statements: Iterable[Statement], known: set[str]) -> Iterator[Statement]:
    for statement in statements:
        conditions = tuple(each for each in statement.conditions if each.key.lower() in known)
        if statement.allows or len(conditions) == len(statement.conditions):
            yield replace(statement, conditions=conditions)


def _denial(
    action: str, resource: str, context: Mapping[str, str], policies: Sequence[Policy]
) -> str | None:
    """Return why an action is not allowed, on any resource that the text may stand for."""
    because = None
    for candidate in _candidates(resource, policies):
        decision = evaluate(Request(action, candidate, context), Policies(policies))
        if decision.allowed:
            return None
        because = because or decision.because
    return because


def _candidates(resource: str, policies: Sequence[Policy]) -> Iterator[str]:
    """Yield what a resource may be: where its id is not known yet, whatever policies name."""
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
