"""The environment's users and groups, with the same ids on every node.

A user who is removed from the environment is locked, not deleted: the files stay theirs. A record
on the node lists the users that these scripts created; others are left alone. Ids are never changed
and never reused: files would change their owners.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import Access, Role, User
from slurmpod_lifecycle.step import StepFailed

RECORD = "/etc/slurmpod/users.json"
"""The names of all users that these scripts ever created on this node."""

FIX = (
    "ids never change, because files keep them: write the old one under access, choose another name"
    " or id, or replace the node"
)

SHELL = "/bin/bash"
NO_SHELL = "/usr/sbin/nologin"
IN_1970 = "1"
"""The expiry date of a former user's account (shadow(5))."""

SHADOW_FIELDS = 9
Command = tuple[str, ...]


class Users(NodeStep):
    """Users and groups match the environment, and its former users are locked."""

    name = "users"
    roles = frozenset(Role)

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether the environment has users, or had some."""
        return super().applies_to(node) and has_people(node)

    def is_done(self) -> bool:
        """Return whether nothing has to be changed."""
        access, known = self.node.settings.access, self._known()
        is_clear = not conflicts(access, known) and not plan(access, known, former_users(self.node))
        return is_clear and recorded(self.node.machine) == self._everybody()

    def apply(self) -> str:
        """Record the new users, then create them; raises StepFailed for ids that are taken."""
        machine, access, known = self.node.machine, self.node.settings.access, self._known()
        found = conflicts(access, known)
        if found:
            raise StepFailed("; ".join(found), FIX)
        machine.write(RECORD, json.dumps(sorted(self._everybody())) + "\n")
        commands = plan(access, known, former_users(self.node))
        for command in commands:
            machine.run(*command)
        return (
            f"{len(access.users)} users and {len(access.groups)} groups ({len(commands)} changes)"
        )

    def _known(self) -> Known:
        texts = (self.node.machine.read(f"/etc/{name}") for name in ("passwd", "shadow", "group"))
        return read_known(*(text or "" for text in texts))

    def _everybody(self) -> frozenset[str]:
        listed = {user.name for user in self.node.settings.access.users}
        return recorded(self.node.machine) | listed


def has_people(node: Node) -> bool:
    """Return whether the environment has its own users or groups, or had some on this node."""
    access = node.settings.access
    return bool(access.users or access.groups or recorded(node.machine))


def former_users(node: Node) -> frozenset[str]:
    """Return the environment's former users on this node."""
    return recorded(node.machine) - {user.name for user in node.settings.access.users}


def recorded(machine: Machine) -> frozenset[str]:
    """Return the names of all users that these scripts ever created on this node."""
    return frozenset(json.loads(machine.read(RECORD) or "[]"))


@dataclass(frozen=True)
class UserEntry:
    """A line of /etc/passwd, and the expiry date in /etc/shadow."""

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
    """Parse the texts of /etc/passwd, /etc/shadow and /etc/group; malformed lines are left out."""
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
    """Return the environment's entries that the node cannot have: ids and names that are taken."""
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
    """Return the commands that create the users and groups; `former` are those who left."""
    made = [
        ("groupadd", "--gid", str(group.gid), group.name)
        for group in access.groups
        if group.name not in known.groups
    ]
    gids = {group.name: group.gid for group in access.groups}
    users = [command for user in access.users for command in _user(user, gids, known)]
    return [*made, *users, *_memberships(access, known, former), *_locks(known, former)]


def _lines(text: str, fields: int) -> Iterator[list[str]]:
    """Yield the fields of complete lines, with a number where the third is an id."""
    for line in text.split("\n"):  # names may contain what Python takes for a line break
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
    """Put users into their groups and out of others; users added by hand stay."""
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
