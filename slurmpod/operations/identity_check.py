"""Check of an account's roles and boundary: whether they let nodes do what they must."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from embedded_aws.iam import NotAPolicy, Policies, Policy, Principal, Request, evaluate, policy_of
from slurmpod.aws.account import AwsAccount, IamRole
from slurmpod.deploy.permissions import Grant, expected_scope, grants, node_roles
from slurmpod.deploy.permissions.sufficiency import Lack, lacking
from slurmpod.environment.cluster import Role
from slurmpod.operations.deployed import require_account
from slurmpod.resolve import Resolved

SAGEMAKER = Principal(service="sagemaker.amazonaws.com")


@dataclass(frozen=True)
class Checked:
    """One role or boundary, the nodes it is for, and what is wrong with it: nothing if it suffices.

    `faults` are sentences about the role itself; `lacks` are what it does not allow.
    """

    arn: str
    nodes: frozenset[Role]
    faults: tuple[str, ...]
    lacks: tuple[Lack, ...]

    @property
    def suffices(self) -> bool:
        """Whether nodes can do all that they must."""
        return not (self.faults or self.lacks)


def check_identity(account: AwsAccount, resolved: Resolved) -> tuple[Checked, ...]:
    """Ask the account about the roles that the environment names, and about its boundary.

    Empty where it names none: then slurmpod makes the roles, and nothing bounds them.

    Raises:
        AwsUnavailable: AWS cannot be asked, or the credentials belong to another account.
    """
    require_account(account, resolved.environment)
    if resolved.identity.existing:
        return tuple(
            _checked_role(account, resolved, arn, nodes)
            for arn, nodes in node_roles(resolved).items()
        )
    boundary = resolved.identity.permissions_boundary
    if boundary is None:
        return ()
    return tuple(
        _checked_boundary(account, resolved, boundary.policy_arn, nodes)
        for nodes in node_roles(resolved).values()
    )


def _checked_role(
    account: AwsAccount, resolved: Resolved, arn: str, nodes: frozenset[Role]
) -> Checked:
    role = account.iam_role(arn)
    if role is None:
        return Checked(arn, nodes, ("there is no such role in the account",), ())
    faults = [] if _is_trusted(role, resolved) else ["sagemaker.amazonaws.com may not assume it"]
    needed = grants(expected_scope(resolved, nodes))
    lacks = list(lacking(needed, tuple(_read(role.policies)), resolved))
    if role.boundary_arn:
        bounds, missing = _boundary(account, role.boundary_arn)
        faults += missing
        lacks += _also_lacking(lacks, needed, bounds, resolved)
    return Checked(arn, nodes, tuple(faults), tuple(lacks))


def _checked_boundary(
    account: AwsAccount, resolved: Resolved, arn: str, nodes: frozenset[Role]
) -> Checked:
    bounds, missing = _boundary(account, arn)
    needed = grants(expected_scope(resolved, nodes))
    return Checked(arn, nodes, tuple(missing), tuple(_also_lacking([], needed, bounds, resolved)))


def _boundary(account: AwsAccount, arn: str) -> tuple[tuple[Policy, ...], list[str]]:
    document = account.iam_policy(arn)
    if document is None:
        return (), [f"there is no policy {arn} in the account, which is its boundary"]
    return tuple(_read({arn: document})), []


def _also_lacking(
    reported: Iterable[Lack],
    needed: Iterable[Grant],
    bounds: tuple[Policy, ...],
    resolved: Resolved,
) -> Iterator[Lack]:
    """Yield what a boundary denies, but for what is lacking anyhow."""
    known = {(lack.grant.sid, lack.action) for lack in reported}
    for lack in lacking(needed, bounds, resolved) if bounds else ():
        if (lack.grant.sid, lack.action) not in known:
            yield lack


def _is_trusted(role: IamRole, resolved: Resolved) -> bool:
    """Tell whether SageMaker may assume a role for a cluster of this account."""
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
    """Yield policies; IAM has none that breaks its own grammar, but a newer one may."""
    for name, document in documents.items():
        try:
            yield policy_of(name, document)
        except NotAPolicy:
            continue
