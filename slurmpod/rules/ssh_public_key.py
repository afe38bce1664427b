"""A public SSH key as one line of text: what it is, or why it is none.

The form is that of RFC 4253 (6.6) and of OpenSSH's PROTOCOL files: a type, the key in base64, which
says the type again, and a comment.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class SshPublicKey:
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
