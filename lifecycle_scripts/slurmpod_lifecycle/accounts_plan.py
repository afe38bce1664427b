"""Users and groups of a node: what it has, what it should have, and the commands between the two.

Pure. Ids are never changed and never given to somebody else: files would change their owners.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from slurmpod_lifecycle.settings import Access, User

SHELL = "/bin/bash"
NO_SHELL = "/usr/sbin/nologin"
IN_1970 = "1"
"""The day on which the account of somebody who left has expired (shadow(5))."""

SHADOW_FIELDS = 9

Command = tuple[str, ...]


@dataclass(frozen=True)
class UserEntry:
    """A line of /etc/passwd, and the day of expiry in /etc/shadow."""

    name: str
    uid: int
    gid: int
    full_name: str
    home: str
    shell: str
    expires: str


@dataclass(frozen=True)
class GroupEntry:
    """A line of /etc/group."""

    name: str
    gid: int
    members: frozenset[str]


@dataclass(frozen=True)
class Known:
    """The users and groups of a node by name."""

    users: Mapping[str, UserEntry]
    groups: Mapping[str, GroupEntry]


def read_known(passwd: str, shadow: str, group: str) -> Known:
    """Read the texts of /etc/passwd, /etc/shadow and /etc/group; odd lines are left out."""
    expiry = {line[0]: line[7] for line in _lines(shadow, SHADOW_FIELDS)}
    users = {}
    for name, _, uid, gid, full_name, home, shell in _lines(passwd, 7):
        expires = expiry.get(name, "")
        users[name] = UserEntry(name, int(uid), int(gid), full_name, home, shell, expires)
    groups = {}
    for name, _, gid, members in _lines(group, 4):
        groups[name] = GroupEntry(name, int(gid), frozenset(members.split(",")) - {""})
    return Known(users, groups)


def conflicts(access: Access, known: Known) -> list[str]:
    """Return what of the environment the node cannot have: ids and names that are taken."""
    users = [(user.name, user.uid) for user in access.users]
    groups = [(group.name, group.gid) for group in access.groups]
    uids = {entry.uid: name for name, entry in known.users.items()}
    gids = {entry.gid: name for name, entry in known.groups.items()}
    of_users = {name: entry.uid for name, entry in known.users.items()}
    of_groups = {name: entry.gid for name, entry in known.groups.items()}
    return [
        *_taken("user", users, of_users, uids),
        *_taken("group", groups, of_groups, gids),
    ]


def plan(access: Access, known: Known, former: frozenset[str]) -> list[Command]:
    """Return the commands that make the users and groups; `former` are those who left."""
    made = [
        ("groupadd", "--gid", str(group.gid), group.name)
        for group in access.groups
        if group.name not in known.groups
    ]
    gids = {group.name: group.gid for group in access.groups}
    users = [command for user in access.users for command in _user(user, gids, known)]
    return [*made, *users, *_memberships(access, known, former), *_locks(known, former)]


def _lines(text: str, fields: int) -> Iterator[list[str]]:
    """Yield the fields of whole lines; where the third is an id, it is a number."""
    for line in text.split("\n"):  # names of people may have what Python calls a line end
        parts = line.split(":")
        if len(parts) == fields and (fields == SHADOW_FIELDS or parts[2].isdigit()):
            yield parts


def _taken(
    what: str, wanted: list[tuple[str, int]], ids: Mapping[str, int], names: Mapping[int, str]
) -> Iterator[str]:
    for name, number in wanted:
        if name in ids and ids[name] != number:
            yield f"the {what} {name} has the id {ids[name]} on this node, not {number}"
        elif name not in ids and number in names:
            yield f"the {what} {names[number]} has the id {number} of {name} on this node"


def _user(user: User, gids: Mapping[str, int], known: Known) -> list[Command]:
    gid, entry = gids[user.group], known.users.get(user.name)
    if entry is None:
        ids = ("--uid", str(user.uid), "--gid", str(gid))
        home = ("--no-create-home", "--home-dir", user.home)
        rest = ("--shell", SHELL, "--comment", user.full_name)
        return [("useradd", *ids, *home, *rest, "--no-log-init", user.name)]
    changed: Command = ()
    if entry.gid != gid:
        changed += ("--gid", str(gid))
    if entry.full_name != user.full_name:
        changed += ("--comment", user.full_name)
    if entry.home != user.home:
        changed += ("--home", user.home)
    if entry.expires == IN_1970:
        changed += ("--expiredate", "", "--shell", SHELL)
    return [("usermod", *changed, user.name)] if changed else []


def _memberships(access: Access, known: Known, former: frozenset[str]) -> Iterator[Command]:
    """Put users into their groups and out of others; who was added by hand stays."""
    people = {user.name for user in access.users} | former
    for group in access.groups:
        wanted = {user.name for user in access.users if group.name in user.groups}
        entry = known.groups.get(group.name)
        has = entry.members if entry else frozenset()
        yield from (("gpasswd", "--add", name, group.name) for name in sorted(wanted - has))
        superfluous = has & people - wanted
        yield from (("gpasswd", "--delete", name, group.name) for name in sorted(superfluous))


def _locks(known: Known, former: frozenset[str]) -> Iterator[Command]:
    for name in sorted(former & set(known.users)):
        if known.users[name].expires != IN_1970:
            yield "usermod", "--expiredate", IN_1970, "--shell", NO_SHELL, name
