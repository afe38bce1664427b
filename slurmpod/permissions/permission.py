"""A permission: actions on resources, for whom, and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import KW_ONLY, field
from typing import Any, Generic, TypeVar

from slurmpod.environment.cluster import Role
from slurmpod.environment.identity import DataBucket
from slurmpod.environment.names import InAccount
from slurmpod.environment.storage import S3Mount
from slurmpod.resolve.environment import LIFECYCLE_FOLDER
from slurmpod.value import Value

Conditions = Mapping[str, Mapping[str, str]]

ALL_NODES = frozenset(Role)
CONTROLLERS = frozenset({Role.CONTROLLER})
WORKERS = frozenset({Role.WORKER})
WHERE_PEOPLE_WORK = frozenset({Role.LOGIN, Role.WORKER})

Of = TypeVar("Of", contravariant=True)
"""The subject of a permission."""


class Secret(Value):
    """A secret that nodes read, and its key if that is the user's own."""

    arn: str
    kms_key_arn: str | None = None


class SessionRecords(Value):
    """The destination of session records, and the user's own key for sessions."""

    log_group: str | None
    bucket: str | None
    kms_key_arn: str | None


class InNetwork(Value, InAccount):
    """A resource with interfaces in these subnets, with these security groups.

    Ids are text, or placeholders until a deployment knows them.
    """

    _: KW_ONLY
    aws_partition: str
    region: str
    account: str
    subnet_ids: tuple[str, ...]
    security_group_ids: tuple[str, ...]


class Scope(InNetwork):
    """The subject of permissions: the nodes of a cluster that one IAM role serves.

    ARNs are also text or placeholders. Resources that the cluster does not have are left out.
    """

    _: KW_ONLY
    cluster_name: str
    roles: Collection[Role]
    has_login_nodes: bool
    scripts_bucket: str | None = None
    scripts_prefix: str = LIFECYCLE_FOLDER
    records_key: str | None = None
    volume_key_arns: Collection[str] = ()
    asks_for_file_systems: bool = False
    asks_for_alarms: bool = False
    s3_mounts: tuple[S3Mount, ...] = ()
    data_buckets: tuple[DataBucket, ...] = ()
    image_repositories: tuple[str, ...] = ()
    job_secrets: tuple[Secret, ...] = ()
    database_secret: Secret | None = None
    bind_secret: Secret | None = None
    takeover_topic_arn: str | None = None
    workspace_arn: str | None = None
    extension_workspace_arn: str | None = None
    sessions: SessionRecords | None = None

    @property
    def tasks(self) -> frozenset[Role]:
        """The roles that the nodes fulfil: without login nodes people work on controllers."""
        if Role.CONTROLLER in self.roles and not self.has_login_nodes:
            return frozenset({*self.roles, Role.LOGIN})
        return frozenset(self.roles)


class Target(Value):
    """The resources of one statement. `number` counts statements of the same permission, from 1."""

    resources: tuple[str, ...]
    conditions: Conditions = field(default_factory=dict)
    number: int = 0


class Permission(Value, Generic[Of]):
    """A permission that nodes, or others, need in some environments.

    `policy` is the inline policy that contains the statement `sid`. `resource` is the form of its
    resources, `condition` that of its conditions, for people. `needed_by` names the caller, and
    `roles` the roles of its nodes, if it runs on nodes. `targets` gives the resources in one
    environment, none if it does not need the permission. `source` is the documentation of AWS or of
    the calling software.
    """

    policy: str
    sid: str
    actions: tuple[str, ...]
    resource: str
    needed_by: str
    why: str
    source: str
    targets: Callable[[Of], Iterable[Target]]
    condition: str
    roles: frozenset[Role]


class Policy(Value):
    """An inline policy of a role, and the defaults of its statements."""

    name: str
    _: KW_ONLY
    needed_by: str = ""
    source: str = ""
    roles: frozenset[Role] = ALL_NODES

    def allows(
        self,
        *,
        sid: str,
        actions: tuple[str, ...],
        resource: str,
        why: str,
        targets: Callable[[Of], Iterable[Target]],
        needed_by: str = "",
        source: str = "",
        condition: str = "",
    ) -> Permission[Of]:
        """Return a statement of it."""
        return Permission(
            policy=self.name,
            sid=sid,
            actions=actions,
            resource=resource,
            needed_by=needed_by or self.needed_by,
            why=why,
            source=source or self.source,
            targets=targets,
            condition=condition,
            roles=self.roles,
        )


class Grant(Value):
    """A permission in one environment: a statement of a policy."""

    permission: Permission[Any]
    target: Target

    @property
    def sid(self) -> str:
        """The statement's id, with a number if several are alike."""
        return f"{self.permission.sid}{self.target.number or ''}"

    def statement(self) -> dict[str, Any]:
        """Return the statement as plain data for JSON."""
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


def grants_of(permissions: Iterable[Permission[Of]], scope: Of) -> tuple[Grant, ...]:
    """Return the statements of `permissions` for `scope`, in their order."""
    return tuple(
        Grant(permission, target)
        for permission in permissions
        for target in permission.targets(scope)
    )


def on_all(_: object) -> Iterable[Target]:
    """Return the target of actions for which IAM supports no narrower resource."""
    return [Target(("*",))]
