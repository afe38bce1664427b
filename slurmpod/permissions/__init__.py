"""Permissions of the nodes of an environment: one table.

Policies, checks and a page of documentation are made from it. Pure: what only a deployment knows
comes in as text, or as whatever stands for text until then. Whether policies suffice is asked in
`permissions.sufficiency`, which alone needs the evaluation of policies.
"""

from slurmpod.permissions.permission import Grant, Permission, Scope, Target
from slurmpod.permissions.registry import (
    PERMISSIONS,
    actions_through_endpoint,
    document,
    grants,
    policies,
)
from slurmpod.permissions.scope import expected_scope, node_roles, scope_of

__all__ = [
    "PERMISSIONS",
    "Grant",
    "Permission",
    "Scope",
    "Target",
    "actions_through_endpoint",
    "document",
    "expected_scope",
    "grants",
    "node_roles",
    "policies",
    "scope_of",
]
