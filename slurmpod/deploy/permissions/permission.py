"""A permission: actions on resources, for whom, and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from slurmpod.environment.cluster import Role
from slurmpod.resolve import Resolved, ResolvedGroup

Conditions = Mapping[str, Mapping[str, str]]

ALL_NODES = frozenset(Role)
CONTROLLERS = frozenset({Role.CONTROLLER})
WHERE_PEOPLE_WORK = frozenset({Role.LOGIN, Role.WORKER})


@dataclass(frozen=True)
class Scope:
    """What permissions are computed for: an environment, and the nodes that one IAM role serves.

    The rest is known to a deployment only, or to nobody where the environment makes no such thing:
    ids or what stands for them.
    """

    resolved: Resolved
    roles: Collection[Role]
    subnet_ids: tuple[str, ...]
    security_group_ids: tuple[str, ...]
    database_secret_arn: str | None = None
    workspace_arn: str | None = None

    @property
    def tasks(self) -> frozenset[Role]:
        """The roles whose part the nodes play: without login nodes people work on controllers."""
        if Role.CONTROLLER in self.roles and not self.resolved.groups_with(Role.LOGIN):
            return frozenset({*self.roles, Role.LOGIN})
        return frozenset(self.roles)

    @property
    def groups(self) -> tuple[ResolvedGroup, ...]:
        """The instance groups of these nodes."""
        return tuple(group for group in self.resolved.groups if group.role in self.roles)


@dataclass(frozen=True)
class Target:
    """The resources of one statement. `number` counts statements of the same permission, from 1."""

    resources: tuple[str, ...]
    conditions: Conditions = field(default_factory=dict)
    number: int = 0


@dataclass(frozen=True)
class Permission:
    """One thing that nodes must be allowed to do, in whatever environment needs it.

    `policy` is the inline policy in which the statement `sid` lies. `resource` is the form of its
    resources, `condition` that of its conditions, for people. `needed_by` says who makes the calls,
    on nodes of which `roles`. `targets` gives the resources in one environment, none where it does
    not need the permission. `source` is where AWS, or whose software calls, says so.
    """

    policy: str
    sid: str
    actions: tuple[str, ...]
    resource: str
    needed_by: str
    roles: frozenset[Role]
    why: str
    source: str
    targets: Callable[[Scope], Iterable[Target]]
    condition: str = ""


@dataclass(frozen=True)
class Grant:
    """A permission in one environment: a statement of a policy."""

    permission: Permission
    target: Target

    @property
    def sid(self) -> str:
        """The statement's id: of several that are alike, each has its number."""
        return f"{self.permission.sid}{self.target.number or ''}"

    def statement(self) -> dict[str, Any]:
        """Return the statement as JSON has it."""
        statement: dict[str, Any] = {
            "Sid": self.sid,
            "Effect": "Allow",
            "Action": list(self.permission.actions),
            "Resource": list(self.target.resources),
        }
        if self.target.conditions:
            statement["Condition"] = {
                operator: dict(keys) for operator, keys in self.target.conditions.items()
            }
        return statement


def on_all(_: Scope) -> Iterable[Target]:
    """Return the target of actions for which IAM knows no narrower resource."""
    return [Target(("*",))]
