"""Check of roles and boundaries: whether they allow what nodes need. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from embedded_aws.iam import NotAPolicy, Policies, Policy, Principal, Request, evaluate, policy_of
from slurmpod.environment.cluster import Role
from slurmpod.permissions.permission import Grant
from slurmpod.permissions.registry import grants
from slurmpod.permissions.scope import expected_scope, node_roles
from slurmpod.permissions.sufficiency import Lack, lacking
from slurmpod.resolve import Resolved
from slurmpod.value import Value

SAGEMAKER = Principal(service="sagemaker.amazonaws.com")

Document = dict[str, Any]


class IamRole(Value):
    """A role: its trust policy, its policies and its boundary.

    `policies` go by the name or ARN of each; `boundary_arn` is None for a role without one.
    """

    arn: str
    trust: Document
    policies: Mapping[str, Document]
    boundary_arn: str | None


class NamedIdentity(Value):
    """The requested roles and policies of an account; None for missing ones."""

    roles: Mapping[str, IamRole | None]
    policies: Mapping[str, Document | None]


class Checked(Value):
    """A role or boundary, its nodes, and its problems: none if it suffices.

    `faults` are sentences about the role itself; `lacks` are missing permissions.
    """

    arn: str
    nodes: frozenset[Role]
    faults: tuple[str, ...]
    lacks: tuple[Lack, ...]

    @property
    def suffices(self) -> bool:
        """Whether everything that nodes need is allowed."""
        return not (self.faults or self.lacks)


def judge_identity(named: NamedIdentity, resolved: Resolved) -> tuple[Checked, ...]:
    """Check the roles that the environment names, or else its boundary.

    Empty if it names neither: slurmpod then creates the roles, without a boundary.
    """
    if resolved.identity.existing:
        return tuple(
            _checked_role(named, resolved, arn, nodes)
            for arn, nodes in node_roles(resolved).items()
        )
    boundary = resolved.identity.permissions_boundary
    if boundary is None:
        return ()
    return tuple(
        _checked_boundary(named, resolved, boundary.policy_arn, nodes)
        for nodes in node_roles(resolved).values()
    )


def _checked_role(
    named: NamedIdentity, resolved: Resolved, arn: str, nodes: frozenset[Role]
) -> Checked:
    role = named.roles.get(arn)
    if role is None:
        return Checked(arn, nodes, ("there is no such role in the account",), ())
    faults = [] if _is_trusted(role, resolved) else ["sagemaker.amazonaws.com may not assume it"]
    needed = grants(expected_scope(resolved, nodes))
    lacks = list(lacking(needed, tuple(_read(role.policies)), resolved))
    if role.boundary_arn:
        bounds, missing = _boundary(named, role.boundary_arn)
        faults += missing
        lacks += _also_lacking(lacks, needed, bounds, resolved)
    return Checked(arn, nodes, tuple(faults), tuple(lacks))


def _checked_boundary(
    named: NamedIdentity, resolved: Resolved, arn: str, nodes: frozenset[Role]
) -> Checked:
    bounds, missing = _boundary(named, arn)
    needed = grants(expected_scope(resolved, nodes))
    return Checked(arn, nodes, tuple(missing), tuple(_also_lacking([], needed, bounds, resolved)))


def _boundary(named: NamedIdentity, arn: str) -> tuple[tuple[Policy, ...], list[str]]:
    document = named.policies.get(arn)
    if document is None:
        return (), [f"its boundary, the policy {arn}, does not exist"]
    return tuple(_read({arn: document})), []


def _also_lacking(
    reported: Iterable[Lack],
    needed: Iterable[Grant],
    bounds: tuple[Policy, ...],
    resolved: Resolved,
) -> Iterator[Lack]:
    """Yield permissions that only the boundary denies."""
    known = {(lack.grant.sid, lack.action) for lack in reported}
    for lack in lacking(needed, bounds, resolved) if bounds else ():
        if (lack.grant.sid, lack.action) not in known:
            yield lack


def _is_trusted(role: IamRole, resolved: Resolved) -> bool:
    """Return whether SageMaker may assume a role for a cluster of this account."""
    try:
        trust = policy_of("its trust policy", role.trust)
    except NotAPolicy:
        return False
    circumstances = {
        "aws:SourceAccount": resolved.account,
        "aws:SourceArn": resolved.arn("sagemaker", "cluster/0a1b2c3d4e5f"),
    }
    request = Request("sts:AssumeRole", role.arn, circumstances, SAGEMAKER)
    return evaluate(request, Policies(resource=trust)).allowed


def _read(documents: Mapping[str, Any]) -> Iterator[Policy]:
    """Yield policies, skipping those that cannot be parsed, as with a future grammar."""
    for name, document in documents.items():
        try:
            yield policy_of(name, document)
        except NotAPolicy:
            continue
