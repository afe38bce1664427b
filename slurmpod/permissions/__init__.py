"""What the nodes of an environment may do: one table.

Policies, checks and a page of documentation are made from it. Pure: what only a deployment knows
comes in as text, or as whatever stands for text until then.
"""

from slurmpod.permissions.expected import expected_scope, node_roles
from slurmpod.permissions.permission import Grant, Permission, Scope, Target
from slurmpod.permissions.registry import PERMISSIONS, document, grants, policies
from slurmpod.permissions.sufficiency import Lack, lacking

__all__ = [
    "PERMISSIONS",
    "Grant",
    "Lack",
    "Permission",
    "Scope",
    "Target",
    "document",
    "expected_scope",
    "grants",
    "lacking",
    "node_roles",
    "policies",
]
