"""SSSD, which makes the users of a directory server known to the node.

HyperPod's image is not known to have it. If the network allows it, it is installed from the image's
package archive; otherwise a custom image must have it. The password for the directory comes from
Secrets Manager and is in no file but SSSD's own.
"""

from __future__ import annotations

from slurmpod_lifecycle import units
from slurmpod_lifecycle.directory import (
    CA_CERTIFICATE,
    SSSD_CONF,
    bind_password,
    password_line,
    servers,
    sssd_conf,
)
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.packages import install
from slurmpod_lifecycle.settings import Directory, Role
from slurmpod_lifecycle.step import NotYet, StepFailed
from slurmpod_lifecycle.units import knows_its_files, write_for

PACKAGES = ("sssd-ldap", "libnss-sss", "libpam-sss")
REACH = "check that the directory runs, and that its security group lets the nodes in"


class Sssd(NodeStep):
    """SSSD runs and knows the directory."""

    name = "sssd"
    roles = frozenset(Role)

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether the environment has a directory."""
        return super().applies_to(node) and node.settings.access.directory is not None

    def is_done(self) -> bool:
        """Return whether SSSD runs with this configuration and the current password."""
        machine, directory = self.node.machine, self._directory
        written = machine.read(SSSD_CONF)
        return (
            written is not None
            and written == self._configuration()
            and (machine.read(CA_CERTIFICATE) or None) == directory.ca_certificate
            and units.is_running(machine, "sssd")
            and not self._unknown_group()
        )

    def apply(self) -> str:
        """Install what is missing, configure and start SSSD, and query a group."""
        machine, directory = self.node.machine, self._directory
        self._install()
        self._reach()
        write_for(machine, "sssd", CA_CERTIFICATE, directory.ca_certificate or "")
        write_for(machine, "sssd", SSSD_CONF, self._configuration(), mode=0o600)
        machine.run("pam-auth-update", "--enable", "mkhomedir")
        units.start(machine, "sssd", restart=not knows_its_files(machine, "sssd"))
        unknown = self._unknown_group()
        if unknown:
            reason = f"the directory shows no group {unknown}"
            raise NotYet(reason, "check base_dn, bind_dn and its password, kind and allowed_groups")
        return f"people of {', '.join(directory.uris)} are known"

    def _configuration(self) -> str:
        """Return sssd.conf with the secret's current password."""
        text, secret_arn = sssd_conf(self.node.settings.access), self._directory.bind_secret_arn
        if secret_arn:
            text += password_line(bind_password(self.node.machine, secret_arn))
        return text

    @property
    def _directory(self) -> Directory:
        directory = self.node.settings.access.directory
        assert directory  # noqa: S101  # checked by `applies_to`
        return directory

    def _install(self) -> None:
        machine = self.node.machine
        if machine.succeeds("dpkg-query", "--status", *PACKAGES):
            return
        if not self._directory.installable:
            raise StepFailed(
                "this image has no SSSD, and a closed network cannot fetch it",
                f"give the groups an image_id of an image with {', '.join(PACKAGES)}",
            )
        fix = "give the groups an image_id of an image with SSSD, or a way to Ubuntu's archive"
        install(machine, *PACKAGES, fix=fix)

    def _reach(self) -> None:
        found = servers(self._directory)
        if not any(self.node.machine.answers(host, port) for host, port in found):
            shown = ", ".join(f"{host}:{port}" for host, port in found)
            raise NotYet(f"no directory server answers: {shown}", REACH)

    def _unknown_group(self) -> str:
        """Return an allowed group that is not found, or an empty text if all are."""
        for group in self._directory.allowed_groups:
            if not self.node.machine.succeeds("getent", "group", group):
                return group
        return ""
