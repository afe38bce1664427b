"""People on the cluster: users of the environment and of its file, their homes, their ways in."""

from __future__ import annotations

from collections.abc import Sequence

from slurmpod.environment.cluster import Role
from slurmpod.environment.environment import Environment
from slurmpod.reading.users_file import ListedUser
from slurmpod.resolve.resolved import KnownGroup, KnownUser, ResolvedAccess

HOMES = "home"
"""The folder of home directories below the main file system."""


def resolve_access(environment: Environment, listed: Sequence[ListedUser]) -> ResolvedAccess:
    """Put the users of the environment and of its file together."""
    access = environment.access
    users = [
        KnownUser(user, ("access", "users", number), None)
        for number, user in enumerate(access.users)
    ]
    users += [KnownUser(each.user, ("access", "users_file"), each.where) for each in listed]
    login_groups = [g.name for g in environment.cluster.groups if g.role is Role.LOGIN]
    return ResolvedAccess(
        groups=tuple(
            KnownGroup(group, ("access", "groups", number))
            for number, group in enumerate(access.groups)
        ),
        users=tuple(users),
        home_directory=access.home_directory or _home_directory(environment),
        directory=access.directory,
        sessions=access.sessions,
        session_groups=access.user_groups or tuple(login_groups),
    )


def _home_directory(environment: Environment) -> str | None:
    """Return where OpenZFS or else the main Lustre file system keeps homes; None without both."""
    storage = environment.storage
    if storage.openzfs:
        return storage.openzfs.mount_path
    if storage.lustre:
        return f"{storage.lustre.mount_path}/{HOMES}"
    return None
