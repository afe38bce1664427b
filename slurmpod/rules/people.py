"""Rules for users and groups: names and ids that are theirs alone, on every node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.model.image_names import IMAGE_USER, IMAGE_USER_ID, is_of_the_image
from slurmpod.model.suggestion import did_you_mean
from slurmpod.model.users_file import RULE
from slurmpod.problems import Severity
from slurmpod.rules.people_places import (
    Held,
    at_user,
    group_ids,
    group_names,
    user_ids,
    user_names,
)
from slurmpod.rules.registry import Area, Finding
from slurmpod.rules.sources import ACCESS_NODES, LIFECYCLE_SCRIPTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import KnownUser, Resolved

PEOPLE = Area("USR", "Users and groups")

USERADD = "https://man7.org/linux/man-pages/man8/useradd.8.html"
UID = "https://man7.org/linux/man-pages/man5/passwd.5.html"
DEBIAN_IDS = "https://www.debian.org/doc/debian-policy/ch-opersys.html#uid-and-gid-classes"

FIRST_ID = 1000
RESERVED_IDS = range(60_000, 65_536)
"""Ids below 1000 belong to the system; 60000 to 65535 are given out by Debian, by systemd, to
nobody (65534), or mean an error (Debian policy, 9.2.2)."""

MADE_BY_SCRIPTS = ("groups", "users", "users_file", "directory", "home_directory")
"""Keys of `access` that slurmpod's scripts put into force on nodes."""

PEOPLE.reported_elsewhere(
    RULE,
    "The file of users can be read",
    why="It is a CSV file whose first line names its columns, which are the keys of access.users; "
    "what holds for these holds for its cells.",
    fix="correct the line, or leave it out",
    source="slurmpod/model/users_file.py",
)


@PEOPLE.rule(
    "USR-002",
    "Every user is named once",
    why="A name is one user on a node; of two, the second would take back what the first says.",
    fix="merge the two, or choose another name",
    source=USERADD,
)
def _users_once(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    for held, first in _taken(user_names(resolved)):
        yield held.finding(f"'{held.value}' is listed twice{_whereabouts(first)}")


@PEOPLE.rule(
    "USR-003",
    "Every user has an id of their own",
    why="For Linux, and for every file, two users with one id are the same person.",
    fix="choose an id that nobody has, or ever had: files keep it",
    source=UID,
)
def _ids_once(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    for held, first in _taken(user_ids(resolved)):
        if held.holder != first.holder:
            yield held.finding(f"{first.holder} has the id {held.value} already")


@PEOPLE.rule(
    "USR-004",
    "Every group is named once",
    why="A user for whom no group is named has one of their own, with their name: that is a group "
    "like the others.",
    fix="choose another name for the group, or write it as the user's 'group'",
    source=USERADD,
)
def _groups_once(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    for held, first in _taken(group_names(resolved)):
        if held.is_listed and first.is_listed:
            yield held.finding(f"'{held.value}' is listed twice")
        elif first.is_listed:  # else these are two users with one name
            yield held.finding(f"{held.holder} has the name of {first.holder}")


@PEOPLE.rule(
    "USR-005",
    "Every group has an id of its own",
    why="For every file, two groups with one id are the same group. A user for whom no group is "
    "named has one of their own, with their id.",
    fix="choose an id that no group and no user without a 'group' has",
    source=USERADD,
)
def _group_ids_once(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    for held, first in _taken(group_ids(resolved)):
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
def _ids_of_people(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    for held in _written_ids(resolved):
        if int(held.value) < FIRST_ID:
            yield held.finding(f"the id {held.value} belongs to the system")
        elif held.value in RESERVED_IDS:
            what = "is nobody" if held.value == 65534 else "is reserved"
            yield held.finding(f"the id {held.value} {what}")


@PEOPLE.rule(
    "USR-007",
    "Names and ids are not those of the image",
    why=f"HyperPod's image has users and groups of its own: {IMAGE_USER} with the id "
    f"{IMAGE_USER_ID}, slurm, munge, and those of Ubuntu.",
    fix="choose another one",
    source=ACCESS_NODES,
)
def _not_of_the_image(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    groups = (held for held in group_names(resolved) if held.is_listed)
    for held in (*user_names(resolved), *groups):
        if is_of_the_image(str(held.value)):
            yield held.finding(f"HyperPod's image has '{held.value}' already")
    for held in _written_ids(resolved):
        if held.value == IMAGE_USER_ID:
            yield held.finding(f"the id {held.value} is that of '{IMAGE_USER}' on every node")


@PEOPLE.rule(
    "USR-008",
    "Every group that is named is defined",
    why="useradd refuses a group that is not there. Groups of the image, such as sudo or docker, "
    "would make root of a user: that is what 'admin: true' says.",
    fix="define it under access.groups, or name one that is there",
    source=USERADD,
)
def _groups_are_defined(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    defined = {group.name for group in resolved.access.groups}
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
)
def _somebody_makes_them(environment: Environment, _: Resolved) -> Iterator[Finding]:
    if environment.lifecycle.mode == "managed":
        yield from _unmade(environment, "nobody makes them in managed mode")


@PEOPLE.rule(
    "USR-010",
    "Scripts of your own make users of their own",
    why="What access says about users is put into force by slurmpod's scripts, in place of which "
    "yours run.",
    fix="make the users in your scripts, and remove the key",
    source=LIFECYCLE_SCRIPTS,
    severity=Severity.WARNING,
)
def _own_scripts_make_their_own(environment: Environment, _: Resolved) -> Iterator[Finding]:
    if environment.lifecycle.scripts and environment.lifecycle.mode != "managed":
        yield from _unmade(environment, "slurmpod's scripts do not run, and yours do not read it")


def _taken(helds: Iterable[Held]) -> Iterator[tuple[Held, Held]]:
    """Yield what somebody holds already, and who was the first."""
    seen: dict[str | int, Held] = {}
    for held in helds:
        first = seen.setdefault(held.value, held)
        if first is not held:
            yield held, first


def _whereabouts(first: Held) -> str:
    """Say where the first one is, when it is in another file."""
    line = None if isinstance(first.place, tuple) else first.place.line
    return f", first in {line.file}, line {line.line}" if line else ""


def _written_ids(resolved: Resolved) -> list[Held]:
    return [*user_ids(resolved), *(held for held in group_ids(resolved) if held.is_listed)]


def _undefined(known: KnownUser, name: str, defined: set[str], key: str, *more: int) -> Finding:
    message = f"there is no group '{name}'"
    return at_user(known, message, key, *more, fix=did_you_mean(name, defined))


def _unmade(environment: Environment, message: str) -> Iterator[Finding]:
    for key in MADE_BY_SCRIPTS:
        if getattr(environment.access, key):
            yield Finding(("access", key), message, at_key=True)
