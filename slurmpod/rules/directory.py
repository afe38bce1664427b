"""Rules for a directory server that knows users."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slurmpod.problems import Severity
from slurmpod.resolve import Resolved
from slurmpod.resolve.slurm import enforces_limits
from slurmpod.rules.lifecycle import is_ours
from slurmpod.rules.registry import Area, Finding
from slurmpod.rules.sources import RESOURCE_LIMITS

DIRECTORIES = Area("DIR", "Directory of users", reads=("access",))

SSSD_LDAP = "https://manpages.ubuntu.com/manpages/jammy/en/man5/sssd-ldap.5.html"
ANONYMOUS = (
    "https://learn.microsoft.com/en-us/troubleshoot/windows-server/active-directory/"
    "anonymous-ldap-operations-active-directory-disabled"
)
DIRECTORY = ("access", "directory")
SECRET = (*DIRECTORY, "bind_secret_arn")
SECRET_KEY = (*DIRECTORY, "bind_secret_kms_key_arn")


@DIRECTORIES.rule(
    "DIR-001",
    "The connection to the directory is encrypted from its start",
    why="With ldap:// it begins in the clear. Nodes then require StartTLS, and cannot use a "
    "server without it.",
    fix="write ldaps:// (port 636), or accept this for a server with StartTLS",
    source=SSSD_LDAP,
    severity=Severity.WARNING,
)
def _encrypted(resolved: Resolved) -> Iterator[Finding]:
    directory = resolved.access.directory
    for number, uri in enumerate(directory.uris if directory else ()):
        if uri.startswith("ldap://"):
            yield Finding((*DIRECTORY, "uris", number), f"{uri} begins without encryption")


@DIRECTORIES.rule(
    "DIR-002",
    "The bind user has a password",
    why="Signing in needs both a name and a password.",
    fix="write both bind_dn and bind_secret_arn, or neither of them and no key",
    source=SSSD_LDAP,
)
def _both_or_neither(resolved: Resolved) -> Iterator[Finding]:
    directory = resolved.access.directory
    if directory and directory.bind_dn and not directory.bind_secret_arn:
        yield Finding((*DIRECTORY, "bind_dn"), "there is no bind_secret_arn", at_key=True)
    if directory and directory.bind_secret_arn and not directory.bind_dn:
        yield Finding(SECRET, "there is no bind_dn", at_key=True)
    if directory and directory.bind_secret_kms_key_arn and not directory.bind_secret_arn:
        yield Finding(SECRET_KEY, "there is no bind_secret_arn", at_key=True)


@DIRECTORIES.rule(
    "DIR-005",
    "A closed network reaches the directory",
    why="Nodes of a closed network reach only AWS endpoints, their VPC, and connected networks. "
    "Nodes that do not reach the directory fail.",
    fix="make sure that the servers are in the VPC or connected with it, and accept this",
    source="https://docs.aws.amazon.com/whitepapers/latest/aws-vpc-connectivity-options/welcome.html",
    severity=Severity.WARNING,
    reads=("access", "network"),
)
def _reachable(resolved: Resolved) -> Iterator[Finding]:
    if resolved.access.directory and resolved.network.closed:
        message = "slurmpod does not know whether a closed network reaches them"
        yield Finding((*DIRECTORY, "uris"), message, at_key=True)


@DIRECTORIES.rule(
    "DIR-006",
    "Nodes have SSSD, or can install it",
    why="HyperPod's own images are not known to have SSSD. Nodes install it from Ubuntu's archive, "
    "which a closed network does not reach.",
    fix="give every group the image_id of an image with sssd-ldap, libnss-sss and libpam-sss, or "
    "accept this warning",
    source="https://documentation.ubuntu.com/server/how-to/sssd/with-ldap/",
    severity=Severity.WARNING,
    reads=("access", "cluster", "lifecycle", "name", "network"),
)
def _sssd_is_there(resolved: Resolved) -> Iterator[Finding]:
    has_other_images = all(group.settings.image_id for group in resolved.groups)
    is_closed = resolved.network.closed and is_ours(resolved)
    if resolved.access.directory and is_closed and not has_other_images:
        yield Finding(DIRECTORY, "nodes of a closed network cannot install SSSD", at_key=True)


@DIRECTORIES.rule(
    "DIR-007",
    "The certificate of the authority is valid",
    why="Nodes trust servers with a certificate that it signed. If it cannot be read, they "
    "trust none.",
    fix="write the PEM file of the certificate, from its BEGIN to its END line",
    source="https://www.rfc-editor.org/rfc/rfc7468",
)
def _certificate_is_one(resolved: Resolved) -> Iterator[Finding]:
    directory = resolved.access.directory
    if directory and directory.ca_certificate and not is_certificate(directory.ca_certificate):
        path = (*DIRECTORY, "ca_certificate")
        yield Finding(path, "the text cannot be read as a certificate", at_key=True)


@DIRECTORIES.rule(
    "DIR-008",
    "People of the directory have accounts in Slurm",
    why="If limits are enforced, users without an account cannot run jobs. The controller adds the "
    "members of allowed_groups to the accounts, and does not know other users.",
    fix="name groups in allowed_groups, or add people with sacctmgr and accept this",
    source=RESOURCE_LIMITS,
    severity=Severity.WARNING,
    reads=("access", "slurm"),
)
def _have_accounts(resolved: Resolved) -> Iterator[Finding]:
    directory = resolved.access.directory
    if directory and not directory.allowed_groups and enforces_limits(resolved):
        yield Finding(DIRECTORY, "its users are in no account", at_key=True)


@DIRECTORIES.rule(
    "DIR-009",
    "Active Directory has a bind user",
    why="By default it does not answer anonymous searches.",
    fix="write bind_dn and bind_secret_arn",
    source=ANONYMOUS,
    severity=Severity.WARNING,
)
def _active_directory_knows_who_asks(resolved: Resolved) -> Iterator[Finding]:
    directory = resolved.access.directory
    if directory and directory.kind == "active_directory" and not directory.bind_dn:
        yield Finding((*DIRECTORY, "kind"), "there is no bind user for Active Directory")


def is_certificate(pem: str) -> bool:
    """Return whether a text contains valid certificates."""
    import ssl  # only needed for a certificate: it is slow to import

    blocks = re.findall(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", pem, re.DOTALL)
    if not blocks or len(blocks) != pem.count("-----BEGIN ") or not pem.isascii():
        return False
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=pem)
    except (ssl.SSLError, ValueError):
        return False
    return True


def _secret(resolved: Resolved) -> str | None:
    directory = resolved.access.directory
    return directory.bind_secret_arn if directory else None
