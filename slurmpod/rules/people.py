"""Rules for users and groups: names and ids that are theirs alone, on every node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from slurmpod.environment.image import IMAGE_USER, IMAGE_USER_ID, is_of_the_image
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.problems import Severity
from slurmpod.reading.users_file import RULE
from slurmpod.resolve import KnownGroup, KnownUser, Resolved
from slurmpod.rules.registry import LIFECYCLE_MODE, Area, Finding
from slurmpod.rules.sources import ACCESS_NODES, LIFECYCLE_SCRIPTS
from slurmpod.value import Value

PEOPLE = Area("USR", "Users and groups", reads=("access",))

USERADD = "https://man7.org/linux/man-pages/man8/useradd.8.html"
UID = "https://man7.org/linux/man-pages/man5/passwd.5.html"
DEBIAN_IDS = "https://www.debian.org/doc/debian-policy/ch-opersys.html#uid-and-gid-classes"

FIRST_ID = 1000
RESERVED_IDS = range(60_000, 65_536)
"""Ids below 1000 belong to the system; 60000 to 65535 are allocated by Debian or systemd, to nobody
(65534), or as an error value (Debian policy, 9.2.2).
"""

MADE_BY_SCRIPTS = ("groups", "users", "users_file", "directory", "home_directory")
"""Keys of `access` that slurmpod's scripts apply on nodes."""

PEOPLE.reported_elsewhere(
    RULE,
    "The file of users can be read",
    why="It is a CSV file whose first line names its columns, which are the keys of access.users; "
    "what holds for these holds for its cells.",
    fix="correct the line, or leave it out",
    source="slurmpod/reading/users_file.py",
)


@PEOPLE.rule(
    "USR-002",
    "Every user is named once",
    why="A name is one user on a node; of two, the second would take back what the first says.",
    fix="merge the two, or choose another name",
    source=USERADD,
)
def _users_once(resolved: Resolved) -> Iterator[Finding]:
    for held, first in _taken(_user_names(resolved)):
        yield held.finding(f"'{held.value}' is listed twice{_whereabouts(first)}")


@PEOPLE.rule(
    "USR-003",
    "Every user has a unique id",
    why="For Linux, and for every file, two users with one id are the same person.",
    fix="choose an id that no user has or had: files keep it",
    source=UID,
)
def _ids_once(resolved: Resolved) -> Iterator[Finding]:
    for held, first in _taken(_user_ids(resolved)):
        if held.holder != first.holder:
            yield held.finding(f"{first.holder} has the id {held.value} already")


@PEOPLE.rule(
    "USR-004",
    "Every group is named once",
    why="A user without a group gets one with the user's name, which is a group like the others.",
    fix="choose another name for the group, or write it as the user's 'group'",
    source=USERADD,
)
def _groups_once(resolved: Resolved) -> Iterator[Finding]:
    for held, first in _taken(_group_names(resolved)):
        if held.is_listed and first.is_listed:
            yield held.finding(f"'{held.value}' is listed twice")
        elif first.is_listed:  # else these are two users with one name
            yield held.finding(f"{held.holder} has the name of {first.holder}")


@PEOPLE.rule(
    "USR-005",
    "Every group has a unique id",
    why="For every file, two groups with one id are the same group. A user without a group gets "
    "one with the user's id.",
    fix="choose an id that no group and no user without a 'group' has",
    source=USERADD,
)
def _group_ids_once(resolved: Resolved) -> Iterator[Finding]:
    for held, first in _taken(_group_ids(resolved)):
        if first.is_listed and held.holder != first.holder:  # else these are two users with one id
            yield held.finding(f"{first.holder} has the id {held.value} already")


@PEOPLE.rule(
    "USR-006",
    "Ids are those of people",
    why="Ids below 1000 belong to the system, whose packages take more of them at any time; 60000 "
    "to 65535 are reserved, 65534 is nobody.",
    fix="choose an id from 1001 to 59999, or one above 65535",
    source=DEBIAN_IDS,
)
def _ids_of_people(resolved: Resolved) -> Iterator[Finding]:
    for held in _written_ids(resolved):
        if int(held.value) < FIRST_ID:
            yield held.finding(f"the id {held.value} belongs to the system")
        elif held.value in RESERVED_IDS:
            what = "is nobody" if held.value == 65534 else "is reserved"
            yield held.finding(f"the id {held.value} {what}")


@PEOPLE.rule(
    "USR-007",
    "Names and ids do not clash with those of the image",
    why=f"HyperPod's image has its own users and groups: {IMAGE_USER} with the id "
    f"{IMAGE_USER_ID}, slurm, munge, and those of Ubuntu.",
    fix="choose another one",
    source=ACCESS_NODES,
)
def _not_of_the_image(resolved: Resolved) -> Iterator[Finding]:
    groups = (held for held in _group_names(resolved) if held.is_listed)
    for held in (*_user_names(resolved), *groups):
        if is_of_the_image(str(held.value)):
            yield held.finding(f"HyperPod's image has '{held.value}' already")
    for held in _written_ids(resolved):
        if held.value == IMAGE_USER_ID:
            yield held.finding(f"the id {held.value} is that of '{IMAGE_USER}' on every node")


@PEOPLE.rule(
    "USR-008",
    "Every group that is named is defined",
    why="useradd refuses a group that is not there. Groups of the image, such as sudo or "
    "docker, would give a user root permissions; use 'admin: true' for that.",
    fix="define it under access.groups, or name one that is there",
    source=USERADD,
)
def _groups_are_defined(resolved: Resolved) -> Iterator[Finding]:
    defined = {listed.group.name for listed in resolved.access.groups}
    for known in resolved.access.users:
        primary = known.user.group
        if primary and primary not in defined:
            yield _undefined(known, primary, defined, "group")
        for number, name in enumerate(known.user.groups):
            if name not in defined:
                yield _undefined(known, name, defined, "groups", number)


@PEOPLE.rule(
    "USR-009",
    "In managed mode there are no users",
    why="Users, groups and the way to a directory are made on nodes, by slurmpod's scripts. In "
    "managed mode no script runs.",
    fix="write 'mode: extended' or 'mode: customer' under lifecycle, or remove the key",
    source=LIFECYCLE_SCRIPTS,
    reads=("access", *LIFECYCLE_MODE),
)
def _somebody_makes_them(resolved: Resolved) -> Iterator[Finding]:
    if resolved.lifecycle.mode == "managed":
        yield from _unmade(resolved, "they are not created in managed mode")


@PEOPLE.rule(
    "USR-010",
    "Your own scripts create their users",
    why="slurmpod's scripts create the users of `access`, but yours run in their place.",
    fix="create the users in your scripts, and remove the key",
    source=LIFECYCLE_SCRIPTS,
    severity=Severity.WARNING,
    reads=("access", *LIFECYCLE_MODE),
)
def _own_scripts_make_their_own(resolved: Resolved) -> Iterator[Finding]:
    if resolved.environment.lifecycle.scripts and resolved.lifecycle.mode != "managed":
        yield from _unmade(resolved, "slurmpod's scripts do not run, and yours do not read it")


def has_people(resolved: Resolved) -> bool:
    """Return whether there are users other than those of the image."""
    return bool(resolved.access.users or resolved.access.directory)


def at_user(
    known: KnownUser, message: str, key: str, *more: int, fix: str = "", at_key: bool = False
) -> Finding:
    """Return a finding at a user's key, or at the `more`-th entry of the list that it holds."""
    if known.line is None:
        return Finding((*known.path, key, *more), message, fix, at_key)
    return Finding(known.path, message, fix, where=replace(known.line, path=key))


class _Held(Value):
    """A name or an id, its holder, and the key that sets it."""

    value: str | int
    holder: str
    by: KnownUser | KnownGroup
    key: str

    @property
    def is_listed(self) -> bool:
        """Whether it belongs to a group with a separate entry, not to a user."""
        return isinstance(self.by, KnownGroup)

    def finding(self, message: str) -> Finding:
        """Return a finding at that key."""
        if isinstance(self.by, KnownGroup):
            return Finding((*self.by.path, self.key), message)
        return at_user(self.by, message, self.key)


def _user_names(resolved: Resolved) -> Iterator[_Held]:
    """Yield the name of every user."""
    for known in resolved.access.users:
        yield _Held(known.user.name, f"the user '{known.user.name}'", known, "name")


def _user_ids(resolved: Resolved) -> Iterator[_Held]:
    """Yield the id of every user."""
    for known in resolved.access.users:
        yield _Held(known.user.uid, f"the user '{known.user.name}'", known, "uid")


def _group_names(resolved: Resolved) -> Iterator[_Held]:
    """Yield the names of all groups, then of the users' own groups."""
    for listed in resolved.access.groups:
        name = listed.group.name
        yield _Held(name, f"the group '{name}'", listed, "name")
    for known in resolved.access.users:
        if known.user.group is None:
            holder = f"the own group of '{known.user.name}'"
            yield _Held(known.user.name, holder, known, "name")


def _group_ids(resolved: Resolved) -> Iterator[_Held]:
    """Yield the ids of all groups, then of the users' own groups."""
    for listed in resolved.access.groups:
        yield _Held(listed.group.gid, f"the group '{listed.group.name}'", listed, "gid")
    for known in resolved.access.users:
        if known.user.group is None:
            holder = f"the own group of '{known.user.name}'"
            yield _Held(known.user.uid, holder, known, "uid")


def _taken(helds: Iterable[_Held]) -> Iterator[tuple[_Held, _Held]]:
    """Yield duplicates, each with the first holder."""
    seen: dict[str | int, _Held] = {}
    for held in helds:
        first = seen.setdefault(held.value, held)
        if first is not held:
            yield held, first


def _whereabouts(first: _Held) -> str:
    """Return the position of the first one, if it is in another file."""
    line = None if isinstance(first.by, KnownGroup) else first.by.line
    return f", first in {line.file}, line {line.line}" if line else ""


def _written_ids(resolved: Resolved) -> list[_Held]:
    return [*_user_ids(resolved), *(held for held in _group_ids(resolved) if held.is_listed)]


def _undefined(known: KnownUser, name: str, defined: set[str], key: str, *more: int) -> Finding:
    message = f"there is no group '{name}'"
    return at_user(known, message, key, *more, fix=did_you_mean(name, defined))


def _unmade(resolved: Resolved, message: str) -> Iterator[Finding]:
    for key in MADE_BY_SCRIPTS:
        if getattr(resolved.environment.access, key):
            yield Finding(("access", key), message, at_key=True)
