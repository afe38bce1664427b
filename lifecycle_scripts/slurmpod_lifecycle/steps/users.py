"""The environment's users and groups, with the same ids on every node.

Who disappears from the environment is locked, not deleted: the files stay theirs. A record on the
node says whom these scripts have made; others are none of their business.
"""

from __future__ import annotations

import json

from slurmpod_lifecycle.accounts_plan import Known, conflicts, plan, read_known
from slurmpod_lifecycle.failures import StepFailed
from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import Role

RECORD = "/etc/slurmpod/users.json"
"""The names of all users that these scripts ever made on this node."""

FIX = (
    "ids never change, because files keep them: write the old one under access, choose another name"
    " or id, or replace the node"
)


class Users(NodeStep):
    """Users and groups exist as the environment says, and nobody else of its former users."""

    name = "users"
    roles = frozenset(Role)

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Tell whether the environment has people, or had some."""
        return super().applies_to(node) and has_people(node)

    def is_done(self) -> bool:
        """Tell whether nothing has to be changed."""
        access, known = self.node.settings.access, self._known()
        is_clear = not conflicts(access, known) and not plan(access, known, former_users(self.node))
        return is_clear and recorded(self.node.machine) == self._everybody()

    def apply(self) -> str:
        """Note whom it makes, then make them; raises StepFailed for ids that are taken."""
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
    """Tell whether the environment has users or groups of its own, or had some on this node."""
    access = node.settings.access
    return bool(access.users or access.groups or recorded(node.machine))


def former_users(node: Node) -> frozenset[str]:
    """Return the users that the environment once had, on this node."""
    return recorded(node.machine) - {user.name for user in node.settings.access.users}


def recorded(machine: Machine) -> frozenset[str]:
    """Return the names of all users that these scripts ever made on this node."""
    return frozenset(json.loads(machine.read(RECORD) or "[]"))
