"""Who uses the cluster: the `access` part of settings.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Group:
    """A group with the same id on every node."""

    name: str
    gid: int


@dataclass(frozen=True)
class Association:
    """A user in one of Slurm's accounts; the options by their names in sacctmgr."""

    account: str
    options: Mapping[str, str | Sequence[str]]


@dataclass(frozen=True)
class User:
    """A person with the same id on every node.

    `group` is the primary one, `groups` are the others; `associations` begin with the default one.
    """

    name: str
    uid: int
    full_name: str
    group: str
    groups: tuple[str, ...]
    home: str
    ssh_keys: tuple[str, ...]
    admin: bool
    associations: tuple[Association, ...]

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> User:
        """Read one user."""
        lists = {name: tuple(data[name]) for name in ("groups", "ssh_keys")}
        associations = tuple(Association(**each) for each in data["associations"])
        return cls(**{**data, **lists, "associations": associations})


@dataclass(frozen=True)
class Directory:
    """A directory server; `installable` says whether nodes reach an archive with SSSD."""

    uris: tuple[str, ...]
    base_dn: str
    kind: str
    bind_dn: str | None
    bind_secret_arn: str | None
    ca_certificate: str | None
    allowed_groups: tuple[str, ...]
    installable: bool

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Directory:
        """Read the part."""
        lists = {name: tuple(data[name]) for name in ("uris", "allowed_groups")}
        return cls(**{**data, **lists})


@dataclass(frozen=True)
class Access:
    """The people of the environment, and the directory that knows others.

    `groups` include the users' own ones; homes are on each node's own disk unless `homes_shared`.
    """

    groups: tuple[Group, ...] = ()
    users: tuple[User, ...] = ()
    home_directory: str = "/home"
    homes_shared: bool = False
    directory: Directory | None = None

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Access:
        """Read the part; raises KeyError or TypeError for one that is not whole."""
        directory = data["directory"]
        return cls(
            groups=tuple(Group(**group) for group in data["groups"]),
            users=tuple(User.of(user) for user in data["users"]),
            home_directory=data["home_directory"],
            homes_shared=data["homes_shared"],
            directory=Directory.of(directory) if directory else None,
        )
