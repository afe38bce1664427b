"""Permissions of the nodes of an environment: one table.

Policies, checks and a page of documentation are generated from it. Pure: values that only a
deployment knows are text, or placeholders for it. Whether policies suffice is checked in
`permissions.sufficiency`, the only module that evaluates policies.
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
