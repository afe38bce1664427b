"""What nodes ask of one AWS service: what an interface endpoint has to let through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.permissions.expected import expected_scope, node_roles
from slurmpod.permissions.registry import grants

if TYPE_CHECKING:
    from slurmpod.resolve import Resolved

PREFIXES = {
    "aps-workspaces": "aps",
    "ecr.api": "ecr",
    "ecr.dkr": "ecr",
    "monitoring": "cloudwatch",
    "sagemaker.api": "sagemaker",
}
"""Services whose actions begin otherwise than their endpoints are called (service authorization
reference)."""


def actions_through_endpoint(resolved: Resolved, service: str) -> tuple[str, ...]:
    """Return the actions of `service` that the nodes' roles allow, sorted.

    None where that is not known, or not all: the service is asked with other identities only, roles
    or policies are the user's own, or others use the VPC, too.
    """
    identity = resolved.identity
    if identity.existing or identity.policy_arns or resolved.network.existing:
        return ()
    prefix = f"{PREFIXES.get(service, service)}:"
    actions = {
        action
        for roles in node_roles(resolved).values()
        for grant in grants(expected_scope(resolved, roles))
        for action in grant.permission.actions
    }
    return tuple(sorted(action for action in actions if action.startswith(prefix)))
