"""References of a cluster to what other stacks make, whose values only a deployment knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from slurmpod.environment.cluster import Role


class DatabaseServer(Protocol):
    """How to reach the database server that the environment makes."""

    @property
    def endpoint(self) -> str:
        """DNS name of the server."""

    @property
    def secret_arn(self) -> str:
        """Secret with user name and password."""


class MountTarget(Protocol):
    """Where a file system is mounted from."""

    @property
    def dns_name(self) -> str:
        """Name of the server."""

    @property
    def mount_name(self) -> str:
        """Name of the file system on it."""


@dataclass(frozen=True)
class References:
    """What the cluster refers to and others make.

    `bundle_uri` is None where there are no scripts (managed mode); `subnet_ids` goes by zone.
    `database` is the environment's own server, not one that the user brings.
    """

    execution_role_arns: Mapping[Role, str]
    bundle_uri: str | None
    subnet_ids: Mapping[str, str]
    security_group_ids: Sequence[str]
    lustre: MountTarget | None
    openzfs: MountTarget | None
    database: DatabaseServer | None
