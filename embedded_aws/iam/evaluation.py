"""Evaluation of policies for a request, with the deciding statement.

Source: IAM user guide, "Policy evaluation logic": an explicit deny anywhere wins; every limit
(boundary, session policy, endpoint policy) must allow; a resource-based policy of the same account
that names the principal suffices, one of another account's resource is needed in addition to the
principal's own policies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from embedded_aws.iam.conditions import action_matches, holds, like
from embedded_aws.iam.policy import Policy, Statement


@dataclass(frozen=True)
class Principal:
    """A caller: an IAM user, the session of a role, or a service of AWS.

    `arn` is that of the user or session, empty for a service; `role_arn` is that of the session's
    role; `service` is a name such as `sagemaker.amazonaws.com`.
    """

    arn: str = ""
    role_arn: str | None = None
    service: str | None = None

    @property
    def account(self) -> str:
        """The id of the account; empty for a service."""
        return self.arn.split(":")[4] if self.arn else ""


@dataclass(frozen=True)
class Request:
    """One action on one resource.

    `context` goes by condition key in any case, e.g. `aws:SourceIp`; several values only for keys
    that have several. `principal` matters to resource-based policies alone.
    """

    action: str
    resource: str
    context: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    principal: Principal | None = None

    @cached_property
    def values(self) -> Mapping[str, tuple[str, ...]]:
        """The context's values by lower-case condition key."""
        return {
            key.lower(): (value,) if isinstance(value, str) else tuple(value)
            for key, value in self.context.items()
        }


@dataclass(frozen=True)
class Policies:
    """All policies that apply to a request.

    `identity` are those of the user or role. `limits` are keyed by kind, such as "permissions
    boundary": each of them must allow the request, too. `resource` is the resource's own
    policy, and `resource_account` its account, if not the principal's. Where
    `resource_decides` (KMS keys, roles that are assumed), `identity` counts only if the resource's
    policy lets the whole account in.
    """

    identity: Sequence[Policy] = ()
    limits: Mapping[str, Sequence[Policy]] = field(default_factory=dict)
    resource: Policy | None = None
    resource_account: str | None = None
    resource_decides: bool = False


@dataclass(frozen=True)
class Decision:
    """The decision and its reason; `explicit` if a statement denies the request."""

    allowed: bool
    because: str
    explicit: bool = False


def evaluate(request: Request, policies: Policies) -> Decision:
    """Return the decision about one request."""
    denial = _denial(request, policies)
    if denial:
        return Decision(False, f"denied by {denial}", explicit=True)
    own = _deciding(request, policies.identity, allows=True)
    granted = _granted_by_resource(request, policies)
    limit = next(
        (
            name
            for name, each in policies.limits.items()
            if not _deciding(request, each, allows=True)
        ),
        None,
    )
    if granted and not _is_foreign(request, policies) and (limit is None or granted.unlimited):
        return Decision(True, f"allowed by {granted.statement}")
    if not own:
        return Decision(False, f"no policy allows {request.action} on {request.resource}")
    if limit:
        return Decision(False, f"{own} allows it, but the {limit} does not")
    if policies.resource_decides and not _account_is_let_in(request, policies):
        return Decision(False, f"{own} allows it, but the policy of the resource does not")
    if _is_foreign(request, policies) and not (granted or _account_is_let_in(request, policies)):
        return Decision(False, f"{own} allows it, but the resource's account does not")
    return Decision(True, f"allowed by {own}")


@dataclass(frozen=True)
class _Grant:
    """A resource's policy names the principal; `unlimited` if boundaries do not limit this."""

    statement: str
    unlimited: bool


def _denial(request: Request, policies: Policies) -> str | None:
    bounding = (policy for each in policies.limits.values() for policy in each)
    denial = _deciding(request, (*policies.identity, *bounding), allows=False)
    if denial or policies.resource is None:
        return denial
    for statement in policies.resource.statements:
        if not statement.allows and _applies(statement, request) and _names(statement, request):
            return _described(statement, policies.resource)
    return None


def _deciding(request: Request, policies: Iterable[Policy], *, allows: bool) -> str | None:
    """Return the name of the first matching statement with this effect."""
    for policy in policies:
        for statement in policy.statements:
            if statement.allows is allows and _applies(statement, request):
                return _described(statement, policy)
    return None


def _described(statement: Statement, policy: Policy) -> str:
    return f"statement {statement.sid} of {policy.name}"


def _applies(statement: Statement, request: Request) -> bool:
    values = request.values
    if statement.actions is not None:
        if not any(action_matches(each, request.action) for each in statement.actions):
            return False
    elif any(action_matches(each, request.action) for each in statement.not_actions or ()):
        return False
    if statement.resources is not None:
        if not any(like(each, request.resource, values) for each in statement.resources):
            return False
    elif any(like(each, request.resource, values) for each in statement.not_resources or ()):
        return False
    return all(holds(condition, request.values) for condition in statement.conditions)


def _granted_by_resource(request: Request, policies: Policies) -> _Grant | None:
    """Return the statement of the resource's policy that grants the principal access directly."""
    if policies.resource is None or request.principal is None:
        return None
    for statement in policies.resource.statements:
        if not statement.allows or not _applies(statement, request):
            continue
        named = set(_matching_names(statement, request.principal))
        direct = named - _names_of_account(request.principal)
        if direct:
            unlimited = direct != {f"AWS {request.principal.role_arn}"}
            return _Grant(_described(statement, policies.resource), unlimited)
    return None


def _account_is_let_in(request: Request, policies: Policies) -> bool:
    """Return whether the resource's policy delegates the decision to the principal's account."""
    if policies.resource is None or request.principal is None:
        return False
    return any(
        statement.allows and _applies(statement, request) and _names(statement, request)
        for statement in policies.resource.statements
    )


def _names(statement: Statement, request: Request) -> bool:
    """Return whether a statement of a resource's policy names the caller."""
    if request.principal is None:
        return False
    if statement.not_principals is not None:
        named = {f"{kind} {n}" for kind, names in statement.not_principals.items() for n in names}
        return not named & _all_names(request.principal)
    return bool(list(_matching_names(statement, request.principal)))


def _matching_names(statement: Statement, principal: Principal) -> Iterator[str]:
    known = _all_names(principal)
    for kind, names in (statement.principals or {}).items():
        for name in names:
            if f"{kind} {name}" in known:
                yield f"{kind} {name}"


def _all_names(principal: Principal) -> set[str]:
    names = {"AWS *", "* *"}
    if principal.service:
        return {*names, f"Service {principal.service}"}
    names |= {f"AWS {principal.arn}", *_names_of_account(principal)}
    return names | ({f"AWS {principal.role_arn}"} if principal.role_arn else set())


def _names_of_account(principal: Principal) -> set[str]:
    if not principal.arn:
        return set()
    partition = principal.arn.split(":")[1]
    return {
        f"AWS {principal.account}",
        f"AWS arn:{partition}:iam::{principal.account}:root",
    }


def _is_foreign(request: Request, policies: Policies) -> bool:
    if policies.resource_account is None or request.principal is None:
        return False
    return policies.resource_account != request.principal.account
