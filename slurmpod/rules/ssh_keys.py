"""Rules for the SSH keys of users: they are public, strong, and one person's.

The form of a key is that of RFC 4253 (6.6) and of OpenSSH's PROTOCOL files: a type, the key in
base64, which says the type again, and a comment.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from typing import Any

from slurmpod.environment.base import written
from slurmpod.problems import Severity, YamlPath
from slurmpod.reading.secrets_in_text import FOUND, REMOVE, holds_private_key
from slurmpod.resolve import KnownUser, Resolved
from slurmpod.rules.people import at_user
from slurmpod.rules.registry import Area, Finding
from slurmpod.value import Value

KEYS = Area("KEY", "SSH keys", reads=("access",))

SSH_KEYGEN = "https://man.openbsd.org/ssh-keygen"
AUTHORIZED_KEYS = "https://man.openbsd.org/sshd#AUTHORIZED_KEYS_FILE_FORMAT"
NIST_KEYS = "https://csrc.nist.gov/pubs/sp/800/131/a/r2/final"

LEAST_RSA_BITS = 2048
"""What NIST allows for signatures (SP 800-131A)."""


@KEYS.rule(
    "KEY-001",
    "Every key of a user is a public key",
    why="It is written unchanged to the authorized keys on every node. A line that is not a key "
    "lets no one in, without any message.",
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
    "The environment contains no private key",
    why="A private key is its owner's alone. One that was written into a file, which is kept in "
    "version control and copied to nodes, is no secret any more.",
    fix=REMOVE,
    source=SSH_KEYGEN,
    reads=(),
)
def _no_private_keys(resolved: Resolved) -> Iterator[Finding]:
    for path, text in _texts(written(resolved.environment)):
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
    why="With one key for two users, each can log in as the other, and no log shows who it was.",
    fix="let each user create a key",
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


FIELDS = {
    "ssh-ed25519": 1,
    "ssh-rsa": 2,
    "ssh-dss": 4,
    "ecdsa-sha2-nistp256": 2,
    "ecdsa-sha2-nistp384": 2,
    "ecdsa-sha2-nistp521": 2,
    "sk-ssh-ed25519@openssh.com": 2,
    "sk-ecdsa-sha2-nistp256@openssh.com": 3,
}
"""How many values follow the type inside a key, by type."""

ED25519_BYTES = 32


class SshPublicKey(Value):
    """A key: its type, itself in base64, and the bits of its modulus if it is an RSA key."""

    kind: str
    blob: str
    rsa_bits: int | None


class NoPublicKey(Exception):
    """Raised for a text that is no public key; the reason never holds any of it."""


def read_public_key(text: str) -> SshPublicKey:
    """Read a line of a file `*.pub`; raises NoPublicKey."""
    words = text.split(maxsplit=2)
    if not words or words[0] not in FIELDS:
        raise NoPublicKey("it does not begin with a known type of key")
    if len(words) == 1:
        raise NoPublicKey("there is only a type, and no key")
    kind, blob = words[:2]
    inside, *values = _values(blob)
    if inside.decode(errors="replace") != kind:
        raise NoPublicKey("its type is not the one inside the key")
    if len(values) != FIELDS[kind] or not all(values):
        raise NoPublicKey("the key is not whole")
    if kind == "ssh-ed25519" and len(values[0]) != ED25519_BYTES:
        raise NoPublicKey("the key is not whole")
    bits = int.from_bytes(values[1], "big").bit_length() if kind == "ssh-rsa" else None
    return SshPublicKey(kind, blob, bits)


def _values(blob: str) -> Sequence[bytes]:
    """Return the values of a key, each of which has its length before it."""
    try:
        rest = base64.b64decode(blob, validate=True)
    except (binascii.Error, ValueError):
        raise NoPublicKey("the key is not base64: a part of it may be missing") from None
    values = []
    while rest:
        length = int.from_bytes(rest[:4], "big")
        if len(rest) < 4 + length:
            raise NoPublicKey("the key is cut off")
        values.append(rest[4 : 4 + length])
        rest = rest[4 + length :]
    if not values:
        raise NoPublicKey("the key is empty")
    return values
