"""A directory server as SSSD presents it to a node: its configuration and its users."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.settings import Access, Directory
from slurmpod_lifecycle.step import CommandFailed, StepFailed
from slurmpod_lifecycle.stored_secret import stored_secret

SSSD_CONF = "/etc/sssd/sssd.conf"
CA_CERTIFICATE = "/etc/slurmpod/directory.pem"
SYSTEM_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
PORTS = {"ldaps": 636, "ldap": 389}
SCHEMAS = {"rfc2307": "rfc2307", "rfc2307bis": "rfc2307bis", "active_directory": "ad"}
FIRST_UID = 1000

FIX = "store the password of bind_dn in the secret as 'password', on one line"


def bind_password(machine: Machine, secret_arn: str) -> str:
    """Read the password from Secrets Manager with the node's role; raises CommandFailed.

    Raises StepFailed for a secret without a password, or with one that sssd.conf cannot hold.
    """
    password = stored_secret(machine, secret_arn, FIX)["password"]
    is_line = isinstance(password, str) and password.isprintable()
    if not is_line or not password or password != password.strip():
        raise StepFailed(f"the password in {secret_arn} is not a single line of plain text", FIX)
    return str(password)


def sssd_conf(access: Access) -> str:
    """Return sssd.conf without its last line, the password (sssd-ldap(5))."""
    directory = access.directory
    assert directory  # noqa: S101  # the step applies only with a directory
    lines = [
        "# Written by slurmpod's lifecycle scripts.",
        "[sssd]",
        "services = nss, pam",
        "domains = directory",
        "",
        "[domain/directory]",
        "id_provider = ldap",
        "auth_provider = ldap",
        *_who_may_log_in(directory),
        f"ldap_uri = {', '.join(directory.uris)}",
        f"ldap_search_base = {directory.base_dn}",
        f"ldap_schema = {SCHEMAS[directory.kind]}",
        f"ldap_id_mapping = {'true' if directory.kind == 'active_directory' else 'false'}",
        "ldap_referrals = false",
        "ldap_id_use_start_tls = true",
        "ldap_tls_reqcert = demand",
        f"ldap_tls_cacert = {CA_CERTIFICATE if directory.ca_certificate else SYSTEM_CERTIFICATES}",
        f"min_id = {FIRST_UID}",
        f"override_homedir = {access.home_directory}/%u",
        "default_shell = /bin/bash",
    ]
    if directory.bind_dn:
        lines += [f"ldap_default_bind_dn = {directory.bind_dn}"]
    return "".join(f"{line}\n" for line in lines)


def password_line(password: str) -> str:
    """Return the last line of sssd.conf."""
    return f"ldap_default_authtok = {password}\n"


def servers(directory: Directory) -> list[tuple[str, int]]:
    """Return the hosts and ports of the servers."""
    found = []
    for uri in directory.uris:
        scheme, _, place = uri.partition("://")
        host, _, port = place.partition(":")
        found.append((host, int(port) if port else PORTS[scheme]))
    return found


def people_of(machine: Machine, directory: Directory) -> Iterator[tuple[str, int, int]]:
    """Yield name, uid and gid of the members of the allowed groups.

    A group that the directory does not know has no members.
    """
    names: set[str] = set()
    for group in directory.allowed_groups:
        try:
            entry = machine.run("getent", "group", group).strip()
        except CommandFailed:
            continue
        names.update(name for name in entry.split(":")[-1].split(",") if name)
    for name in sorted(names):
        try:
            line = machine.run("getent", "passwd", name).strip().split(":")
        except CommandFailed:
            continue
        yield line[0], int(line[2]), int(line[3])


def _who_may_log_in(directory: Directory) -> list[str]:
    if not directory.allowed_groups:
        return ["access_provider = permit"]
    groups = ", ".join(directory.allowed_groups)
    return ["access_provider = simple", f"simple_allow_groups = {groups}"]
