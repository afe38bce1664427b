"""Rules for the SSH keys of users. No message here shows any of a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.model.private_keys import FOUND, REMOVE, holds_private_key
from slurmpod.problems import Severity
from slurmpod.rules.people_places import at_user
from slurmpod.rules.registry import Area, Finding
from slurmpod.rules.ssh_public_key import NoPublicKey, SshPublicKey, read_public_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.problems import YamlPath
    from slurmpod.resolve import KnownUser, Resolved

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
def _are_public_keys(_: Environment, resolved: Resolved) -> Iterator[Finding]:
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
def _no_private_keys(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for path, text in _texts(environment.model_dump(mode="json", exclude_defaults=True)):
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
def _strong_enough(_: Environment, resolved: Resolved) -> Iterator[Finding]:
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
def _one_persons(_: Environment, resolved: Resolved) -> Iterator[Finding]:
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
