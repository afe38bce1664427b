"""All permissions of nodes in one table, and the part that an environment needs."""

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
    "cloudwatch:DescribeAlarms": "CloudWatch shows composite alarms only to callers who may see "
    "all alarms (API reference, DescribeAlarms)",
}
"""Actions that IAM could narrow but that are allowed on `*`, and why."""


def grants(scope: Scope) -> tuple[Grant, ...]:
    """Return the permissions for `scope`, by policy; similar statements have numbers."""
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
    """Return a policy as plain data for JSON."""
    return {"Version": "2012-10-17", "Statement": [grant.statement() for grant in of]}


PREFIXES = {
    "aps-workspaces": "aps",
    "ecr.api": "ecr",
    "ecr.dkr": "ecr",
    "monitoring": "cloudwatch",
    "sagemaker.api": "sagemaker",
}
"""Services whose action prefix differs from the name of their endpoint (service authorization
reference).
"""

JOIN_SESSIONS = ("kms:Decrypt",)
"""Actions that the policy of the environment's own session key allows nodes: the agent decrypts the
data key of a session itself (Systems Manager user guide, "Turn on KMS key encryption of session
data").
"""

RECORD_SESSIONS = ("kms:Decrypt", "kms:GenerateDataKey")
"""Actions that the same policy allows if records go to a bucket (Amazon S3 user guide, "Protecting
data with SSE-KMS").
"""


def actions_through_endpoint(resolved: Resolved, service: str) -> tuple[str, ...]:
    """Return the actions of `service` that nodes may do, by role or by key policy, sorted.

    None if they are not fully known: the service is called only with other identities, roles or
    policies are the user's own, or others use the VPC, too.
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
    """Return the actions that resource policies of the environment allow nodes, beside their role.

    The session key is the only such resource: topics, queues and the other keys allow only
    services, and secrets, buckets and the Prometheus workspace rely on the nodes' roles.
    """
    sessions = resolved.access.sessions
    if sessions is None or sessions.kms_key_arn:
        return ()
    return JOIN_SESSIONS + (RECORD_SESSIONS if session_names(resolved).bucket else ())
