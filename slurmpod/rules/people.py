"""Rules for users and groups: names, ids and keys that are theirs alone, on every node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from slurmpod.environment.environment import Environment
from slurmpod.environment.image_names import IMAGE_USER, IMAGE_USER_ID, is_of_the_image
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.problems import Severity, YamlPath
from slurmpod.reading.private_keys import FOUND, REMOVE, holds_private_key
from slurmpod.reading.users_file import RULE
from slurmpod.resolve import KnownUser, Resolved
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
from slurmpod.rules.ssh_public_key import NoPublicKey, SshPublicKey, read_public_key

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
    for held, first in _taken(user_names(resolved)):
        yield held.finding(f"'{held.value}' is listed twice{_whereabouts(first)}")


@PEOPLE.rule(
    "USR-003",
    "Every user has an id of their own",
    why="For Linux, and for every file, two users with one id are the same person.",
    fix="choose an id that nobody has, or ever had: files keep it",
    source=UID,
)
def _ids_once(resolved: Resolved) -> Iterator[Finding]:
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
def _groups_once(resolved: Resolved) -> Iterator[Finding]:
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
def _group_ids_once(resolved: Resolved) -> Iterator[Finding]:
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
def _ids_of_people(resolved: Resolved) -> Iterator[Finding]:
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
def _not_of_the_image(resolved: Resolved) -> Iterator[Finding]:
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
def _groups_are_defined(resolved: Resolved) -> Iterator[Finding]:
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
def _somebody_makes_them(resolved: Resolved) -> Iterator[Finding]:
    environment = resolved.environment
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
def _own_scripts_make_their_own(resolved: Resolved) -> Iterator[Finding]:
    environment = resolved.environment
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


KEYS = Area("KEY", "SSH keys")

SSH_KEYGEN = "https://man.openbsd.org/ssh-keygen"
AUTHORIZED_KEYS = "https://man.openbsd.org/sshd#AUTHORIZED_KEYS_FILE_FORMAT"
NIST_KEYS = "https://csrc.nist.gov/pubs/sp/800/131/a/r2/final"

LEAST_RSA_BITS = 2048
"""What NIST allows for signatures (SP 800-131A)."""


@KEYS.rule(
    "KEY-001",
    "Every key of a user is a public key",
    why="It is written to the authorized keys on every node as it is. A line that is no key lets "
    "nobody in, and nobody is told.",
    fix="write the one line of the file *.pub, such as ~/.ssh/id_ed25519.pub, without options",
    source=AUTHORIZED_KEYS,
)
def _are_public_keys(resolved: Resolved) -> Iterator[Finding]:
    for known, number, text in _keys(resolved):
        if holds_private_key(text):
            continue
        try:
            read_public_key(text)
        except NoPublicKey as reason:
            message = f"key {number + 1} of '{known.user.name}' is no public key: {reason}"
            yield at_user(known, message, "ssh_keys", number)


@KEYS.rule(
    "KEY-002",
    "No private key stands in the environment",
    why="A private key is its owner's alone. One that was written into a file, which is kept in "
    "version control and copied to nodes, is no secret any more.",
    fix=REMOVE,
    source=SSH_KEYGEN,
)
def _no_private_keys(resolved: Resolved) -> Iterator[Finding]:
    for path, text in _texts(resolved.environment.model_dump(mode="json", exclude_defaults=True)):
        if holds_private_key(text):
            yield Finding(path, FOUND)


@KEYS.rule(
    "KEY-003",
    "Keys are strong enough",
    why=f"OpenSSH no longer takes DSA keys, and RSA keys of less than {LEAST_RSA_BITS} bits can be "
    "broken.",
    fix="make a new one with 'ssh-keygen -t ed25519'",
    source=NIST_KEYS,
)
def _strong_enough(resolved: Resolved) -> Iterator[Finding]:
    for known, number, text in _keys(resolved):
        key = _key(text)
        whose = f"key {number + 1} of '{known.user.name}'"
        if key and key.kind == "ssh-dss":
            yield at_user(known, f"{whose} is a DSA key", "ssh_keys", number)
        elif key and key.rsa_bits is not None and key.rsa_bits < LEAST_RSA_BITS:
            message = f"{whose} is an RSA key of {key.rsa_bits} bits"
            yield at_user(known, message, "ssh_keys", number)


@KEYS.rule(
    "KEY-004",
    "Every key is one person's",
    why="With one key for two users, each can log in as the other, and nobody knows who it was.",
    fix="let everybody make a key of their own",
    source=SSH_KEYGEN,
    severity=Severity.WARNING,
)
def _one_persons(resolved: Resolved) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for known, number, text in _keys(resolved):
        key, name = _key(text), known.user.name
        first = seen.setdefault(key.blob, name) if key else name
        if first != name:
            message = f"key {number + 1} of '{name}' is one of '{first}', too"
            yield at_user(known, message, "ssh_keys", number)


def _keys(resolved: Resolved) -> Iterator[tuple[KnownUser, int, str]]:
    for known in resolved.access.users:
        for number, text in enumerate(known.user.ssh_keys):
            yield known, number, text


def _key(text: str) -> SshPublicKey | None:
    try:
        return read_public_key(text)
    except NoPublicKey:
        return None


def _texts(value: Any, path: YamlPath = ()) -> Iterator[tuple[YamlPath, str]]:
    """Yield every text of an environment, and its place."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(inner, (*path, index))
