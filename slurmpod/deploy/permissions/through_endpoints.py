"""Actions that an interface endpoint has to let through: what nodes ask of one AWS service."""

from __future__ import annotations

from slurmpod.deploy.permissions.expected import expected_scope, node_roles
from slurmpod.deploy.permissions.registry import grants
from slurmpod.resolve import Resolved, session_names

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
