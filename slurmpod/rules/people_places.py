"""Where users and groups stand: in the environment, or in the file of users that it names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from slurmpod.problems import YamlPath
from slurmpod.resolve import KnownUser, Resolved
from slurmpod.rules.registry import Finding


@dataclass(frozen=True)
class Held:
    """A name or an id, who has it, and where that is written."""

    value: str | int
    holder: str
    place: KnownUser | YamlPath
    key: str

    @property
    def is_listed(self) -> bool:
        """Whether it is that of a group with an entry of its own, not of a user."""
        return isinstance(self.place, tuple)

    def finding(self, message: str) -> Finding:
        """Return a finding at that place."""
        if isinstance(self.place, tuple):
            return Finding((*self.place, self.key), message)
        return at_user(self.place, message, self.key)


def has_people(resolved: Resolved) -> bool:
    """Tell whether anybody but the users of the image comes to the nodes."""
    return bool(resolved.access.users or resolved.access.directory)


def at_user(
    known: KnownUser, message: str, key: str, *more: int, fix: str = "", at_key: bool = False
) -> Finding:
    """Return a finding at a user's key, or at the `more`-th entry of the list that it holds."""
    if known.line is None:
        return Finding((*known.path, key, *more), message, fix, at_key)
    return Finding(known.path, message, fix, where=replace(known.line, path=key))


def user_names(resolved: Resolved) -> Iterator[Held]:
    """Yield the name of every user."""
    for known in resolved.access.users:
        yield Held(known.user.name, f"the user '{known.user.name}'", known, "name")


def user_ids(resolved: Resolved) -> Iterator[Held]:
    """Yield the id of every user."""
    for known in resolved.access.users:
        yield Held(known.user.uid, f"the user '{known.user.name}'", known, "uid")


def group_names(resolved: Resolved) -> Iterator[Held]:
    """Yield the name of every group, then of the groups that users have of their own."""
    for index, group in enumerate(resolved.access.groups):
        place = ("access", "groups", index)
        yield Held(group.name, f"the group '{group.name}'", place, "name")
    for known in resolved.access.users:
        if known.user.group is None:
            holder = f"the own group of '{known.user.name}'"
            yield Held(known.user.name, holder, known, "name")


def group_ids(resolved: Resolved) -> Iterator[Held]:
    """Yield the id of every group, then of the groups that users have of their own."""
    for index, group in enumerate(resolved.access.groups):
        place = ("access", "groups", index)
        yield Held(group.gid, f"the group '{group.name}'", place, "gid")
    for known in resolved.access.users:
        if known.user.group is None:
            holder = f"the own group of '{known.user.name}'"
            yield Held(known.user.uid, holder, known, "uid")
