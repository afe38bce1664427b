"""Logins of the environment's users, and the right to become root.

Their keys are in a folder of root's on each node, in addition to those in the users' homes: a key
removed from the environment is gone, and root writes nothing where users can write.
"""

from __future__ import annotations

from collections.abc import Mapping

from slurmpod_lifecycle import units
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import Access, Role
from slurmpod_lifecycle.step import CommandFailed, StepFailed
from slurmpod_lifecycle.steps.users import has_people

NOTE = "# Written by slurmpod's lifecycle scripts."
KEYS = "/etc/slurmpod/authorized_keys"
SSHD_CONF = "/etc/ssh/sshd_config.d/10-slurmpod.conf"
SSHD_TEXT = f"{NOTE}\nAuthorizedKeysFile .ssh/authorized_keys {KEYS}/%u\n"
SUDOERS = "/etc/sudoers.d/slurmpod"
CANDIDATE = "/etc/slurmpod/sudoers"
VISUDO = "/usr/sbin/visudo"


class Logins(NodeStep):
    """Users log in with their keys, and administrators become root."""

    name = "logins"
    roles = frozenset(Role)
    needs = ("users",)

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether the environment has users, or had some."""
        return super().applies_to(node) and has_people(node)

    def is_done(self) -> bool:
        """Return whether all files are up to date, and there are no others."""
        machine, access = self.node.machine, self.node.settings.access
        wanted = key_files(access)
        return (
            machine.read(SSHD_CONF) == SSHD_TEXT
            and not self._sshd_is_old()
            and machine.read(SUDOERS) == sudoers(access)
            and self._present() == set(wanted)
            and all(machine.read(path) == text for path, text in wanted.items())
        )

    def apply(self) -> str:
        """Write the keys, remove those of former users, and configure sshd and sudo."""
        machine, access = self.node.machine, self.node.settings.access
        wanted = key_files(access)
        for path in sorted(self._present() - set(wanted)):
            machine.run("rm", path)
        for path, text in wanted.items():
            machine.write(path, text)
        self._allow_sudo(sudoers(access))
        units.write_for(machine, "ssh", SSHD_CONF, SSHD_TEXT)
        if self._sshd_is_old():
            units.reload(machine, "ssh")
        admins = sum(user.admin for user in access.users)
        return f"{len(wanted)} users with keys, {admins} administrators"

    def _present(self) -> set[str]:
        """Return the existing key files."""
        machine = self.node.machine
        if not machine.succeeds("test", "-d", KEYS):
            return set()
        return set(machine.run("find", KEYS, "-type", "f").splitlines())

    def _allow_sudo(self, text: str) -> None:
        """Write the rules for sudo, which rejects all users if they contain an error."""
        machine = self.node.machine
        machine.write(CANDIDATE, text, mode=0o440)
        try:
            if machine.succeeds("test", "-x", VISUDO):
                machine.run(VISUDO, "--check", "--quiet", f"--file={CANDIDATE}")
        except CommandFailed as error:
            raise StepFailed(error.reason, "report it, with the log of the node") from None
        machine.write(SUDOERS, text, mode=0o440)

    def _sshd_is_old(self) -> bool:
        """Return whether sshd runs with its current configuration."""
        machine = self.node.machine
        runs = machine.succeeds("systemctl", "is-active", "--quiet", "ssh")
        return runs and not units.knows_its_files(machine, "ssh")


def key_files(access: Access) -> Mapping[str, str]:
    """Return the key file of every user with keys, by path."""
    return {
        f"{KEYS}/{user.name}": "".join(f"{key}\n" for key in user.ssh_keys)
        for user in access.users
        if user.ssh_keys
    }


def sudoers(access: Access) -> str:
    """Return sudo's rules: administrators may run everything, without a password."""
    admins = (user.name for user in access.users if user.admin)
    return "".join(f"{line}\n" for line in [NOTE, *(f"{a} ALL=(ALL) NOPASSWD:ALL" for a in admins)])
