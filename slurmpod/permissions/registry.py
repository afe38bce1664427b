"""Everything that nodes may do, in one table, and what of it an environment needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slurmpod.permissions.agents import PLATFORM, SESSIONS
from slurmpod.permissions.data import DATA, MOUNTED
from slurmpod.permissions.permission import Grant, Scope
from slurmpod.permissions.scope import expected_scope, node_roles
from slurmpod.permissions.scripts import SCRIPTS
from slurmpod.resolve import Resolved, session_names

PERMISSIONS = (*PLATFORM, *SCRIPTS, *MOUNTED, *DATA, *SESSIONS)

NARROWED_BY_NOTHING = {
    "cloudwatch:DescribeAlarms": "CloudWatch shows composite alarms to nobody who may see less "
    "than all (API reference, DescribeAlarms)",
}
"""Actions that IAM could narrow and that are allowed on `*` all the same, and why."""


def grants(scope: Scope) -> tuple[Grant, ...]:
    """Return what nodes of `scope` need, policy by policy; alike statements by their numbers."""
    found = [
        Grant(permission, target)
        for permission in PERMISSIONS
        if permission.roles & scope.tasks
        for target in permission.targets(scope)
    ]
    policies = list(dict.fromkeys(grant.permission.policy for grant in found))
    return tuple(
        sorted(found, key=lambda g: (policies.index(g.permission.policy), g.target.number))
    )


def policies(scope: Scope) -> Mapping[str, tuple[Grant, ...]]:
    """Return the grants by the name of their policy."""
    found: dict[str, tuple[Grant, ...]] = {}
    for grant in grants(scope):
        name = grant.permission.policy
        found[name] = (*found.get(name, ()), grant)
    return found


def document(of: tuple[Grant, ...]) -> dict[str, Any]:
    """Return a policy as JSON has it."""
    return {"Version": "2012-10-17", "Statement": [grant.statement() for grant in of]}


PREFIXES = {
    "aps-workspaces": "aps",
    "ecr.api": "ecr",
    "ecr.dkr": "ecr",
    "monitoring": "cloudwatch",
    "sagemaker.api": "sagemaker",
}
"""Services whose actions begin otherwise than their endpoints are called (service authorization
reference)."""

JOIN_SESSIONS = ("kms:Decrypt",)
"""What the policy of a session key of the environment's own lets nodes do: the agent decrypts the
data key of a session itself (Systems Manager user guide, "Turn on KMS key encryption of session
data")."""

RECORD_SESSIONS = ("kms:Decrypt", "kms:GenerateDataKey")
"""What the same policy lets them do where records go to a bucket (Amazon S3 user guide, "Protecting
data with SSE-KMS")."""


def actions_through_endpoint(resolved: Resolved, service: str) -> tuple[str, ...]:
    """Return the actions of `service` that nodes may do, by role or by key policy, sorted.

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
    actions.update(_by_policies_of_keys(resolved))
    return tuple(sorted(action for action in actions if action.startswith(prefix)))


def _by_policies_of_keys(resolved: Resolved) -> tuple[str, ...]:
    """Return what nodes may do by policies of resources of the environment's own, not by a role.

    The session key is the only such resource: topics, queues and the other keys let in services
    alone, and secrets, buckets and the Prometheus workspace leave nodes to their roles.
    """
    sessions = resolved.access.sessions
    if sessions is None or sessions.kms_key_arn:
        return ()
    return JOIN_SESSIONS + (RECORD_SESSIONS if session_names(resolved).bucket else ())
