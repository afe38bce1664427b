"""Everything that nodes may do, in one table, and what of it an environment needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slurmpod.deploy.permissions.agents import PLATFORM
from slurmpod.deploy.permissions.data import DATA, MOUNTED
from slurmpod.deploy.permissions.permission import Grant, Scope
from slurmpod.deploy.permissions.scripts import SCRIPTS
from slurmpod.deploy.permissions.sessions import SESSIONS

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
