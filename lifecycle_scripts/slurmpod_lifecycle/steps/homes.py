"""Home directories: created once, by whichever node is first, and never changed again.

On shared storage many nodes start at once. Each creates a complete home under a temporary name and
renames it: only the first one succeeds, because a rename replaces no folder with files. There every
user also gets a key pair, with which only that user can go from node to node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slurmpod_lifecycle.directory import people_of
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.step import CommandFailed, StepFailed

PROGRAM = "/usr/local/sbin/slurmpod-home"
PROGRAM_TEXT = """\
#!/bin/sh
# Written by slurmpod's lifecycle scripts: makes one home directory.
set -eu
umask 077
home=$1 temporary=$2 owner=$3 user=$4 shared=$5
trap 'rm -rf -- "$temporary"' EXIT
rm -rf -- "$temporary"
mkdir -- "$temporary"
cp -R /etc/skel/. "$temporary/"
if [ "$shared" ]; then
    mkdir -p -- "$temporary/.ssh"
    ssh-keygen -q -t ed25519 -N '' -C "$user" -f "$temporary/.ssh/id_ed25519"
    cp "$temporary/.ssh/id_ed25519.pub" "$temporary/.ssh/authorized_keys"
fi
chown -R -- "$owner" "$temporary"
mv --no-target-directory -- "$temporary" "$home" || [ -d "$home" ]
"""
"""It succeeds, too, if another node was faster."""

FIX = (
    "make the folder by hand, as its user's own; with root squash, name the controller in"
    " except_nids"
)


@dataclass(frozen=True)
class Person:
    """A user with a home in the folder of homes."""

    name: str
    uid: int
    gid: int


class Homes(NodeStep):
    """Every user has a home directory that no other user can read."""

    name = "homes"
    roles = frozenset(Role)
    needs = ("mount_fsx", "users", "sssd")

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether there are users."""
        access = node.settings.access
        return super().applies_to(node) and bool(access.users or access.directory)

    def is_done(self) -> bool:
        """Return whether every user has a home."""
        return not missing(self._people(), self._existing())

    def apply(self) -> str:
        """Create the missing homes.

        Raises StepFailed for one that belongs to another user. If root may not create homes, only
        the controller fails: it is the node that may, if any.
        """
        access, machine, existing = self.node.settings.access, self.node.machine, self._existing()
        people = self._people()
        strange = disputes(people, existing, access.home_directory)
        if strange:
            raise StepFailed(
                "; ".join(strange), "give the files over with chown, or write the old id"
            )
        lacking = missing(people, existing)
        try:
            machine.write(PROGRAM, PROGRAM_TEXT, mode=0o755)
            machine.run("mkdir", "-p", access.home_directory)
            for person in lacking:
                self._make(person)
        except CommandFailed as error:
            if self.node.role is Role.CONTROLLER:
                raise StepFailed(error.reason, FIX) from None
            return f"warning: the controller has to make homes: {error.reason}"
        return f"{len(people)} homes in {access.home_directory}, {len(lacking)} of them new"

    def _make(self, person: Person) -> None:
        access = self.node.settings.access
        home = f"{access.home_directory}/{person.name}"
        temporary = f"{access.home_directory}/.{person.name}.{self.node.name}"
        owner, shared = f"{person.uid}:{person.gid}", "yes" if access.homes_shared else ""
        self.node.machine.run(PROGRAM, home, temporary, owner, person.name, shared)

    def _people(self) -> list[Person]:
        """Return the environment's users, and on the controller also those of the directory."""
        access = self.node.settings.access
        gids = {group.name: group.gid for group in access.groups}
        people = {user.name: Person(user.name, user.uid, gids[user.group]) for user in access.users}
        if access.directory and self.node.role is Role.CONTROLLER:
            for name, uid, gid in people_of(self.node.machine, access.directory):
                people.setdefault(name, Person(name, uid, gid))
        return list(people.values())

    def _existing(self) -> dict[str, int]:
        """Return the owners of what is in the folder of homes, by name."""
        machine, folder = self.node.machine, self.node.settings.access.home_directory
        if not machine.succeeds("test", "-d", folder):
            return {}
        some_vanish = "-ignore_readdir_race"  # homes that other nodes are just making
        depth = ("-mindepth", "1", "-maxdepth", "1")
        return owners(machine.run("find", folder, some_vanish, *depth, "-printf", "%U %f\\n"))


def owners(found: str) -> dict[str, int]:
    """Read lines with an id and a name; hidden ones are homes that nodes are just making."""
    pairs = (line.split(" ", 1) for line in found.splitlines() if " " in line)
    return {name: int(uid) for uid, name in pairs if uid.isdigit() and not name.startswith(".")}


def missing(people: Sequence[Person], existing: Mapping[str, int]) -> list[Person]:
    """Return those who have no home."""
    return [person for person in people if person.name not in existing]


def disputes(people: Sequence[Person], existing: Mapping[str, int], folder: str) -> list[str]:
    """Return the conflicts: a home with another id, or a new user's id that owns another home.

    A user with a home may own further folders next to it.
    """
    names = {person.uid: person.name for person in missing(people, existing)}
    found = []
    for person in people:
        owner = existing.get(person.name, person.uid)
        if owner != person.uid:
            found.append(f"{folder}/{person.name} belongs to the id {owner}, not {person.uid}")
    for name, owner in sorted(existing.items()):
        if owner in names:
            found.append(f"{folder}/{name} belongs to the id {owner}, now the id of {names[owner]}")
    return found
