"""Permissions that users of nodes have through the nodes' roles, as rows of a table. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.environment.cluster import Role
from slurmpod.environment.names import account_of_arn
from slurmpod.permissions.permission import WHERE_PEOPLE_WORK
from slurmpod.permissions.registry import grants
from slurmpod.permissions.scope import expected_scope, node_roles
from slurmpod.resolve import Resolved
from slurmpod.value import Value

NOT_KNOWN = "not known here: slurmpod preflight reads it"


class Right(Value):
    """Actions that users of `nodes` can call, and their resources.

    For a policy or a role with unknown content `actions` has its ARN, and `on` what is known about
    it.
    """

    nodes: str
    actions: tuple[str, ...]
    on: str


def rights_of_users(resolved: Resolved) -> tuple[Right, ...]:
    """Return the rights of the roles of nodes on which people work, in the order of policies."""
    return tuple(
        right
        for arn, roles in node_roles(resolved).items()
        if expected_scope(resolved, roles).tasks & WHERE_PEOPLE_WORK
        for right in _of_role(resolved, arn, roles)
    )


def _of_role(resolved: Resolved, arn: str, roles: frozenset[Role]) -> Iterator[Right]:
    nodes = ", ".join(role.value for role in Role if role in roles)
    if existing := resolved.identity.existing:
        documents = [resolved.policies[each] for each in existing.policy_files]
        yield Right(nodes, (arn,), _known_of(documents, resolved))
        return
    rows: dict[str, Right] = {}
    for grant in grants(expected_scope(resolved, roles)):
        permission = grant.permission
        rows.setdefault(permission.sid, Right(nodes, permission.actions, permission.resource))
    yield from rows.values()
    from slurmpod.permissions.powers import OF_AWS  # it evaluates policies

    for policy in resolved.identity.policy_arns:
        name = policy.rpartition("/")[2]
        known = OF_AWS.get(name) if account_of_arn(policy) == "aws" else None
        yield Right(nodes, (policy,), known or NOT_KNOWN)


def _known_of(documents: list[dict[str, object]], resolved: Resolved) -> str:
    if not documents:
        return NOT_KNOWN
    from embedded_aws.iam import policy_of
    from slurmpod.permissions.powers import powers_of

    policies = [policy_of("of the role", each) for each in documents]
    found = [each.what for each in powers_of(policies, resolved)]
    beyond = f", and {'; '.join(found)}" if found else ", and nothing of the account beyond"
    return f"what the cluster needs{beyond}"
