"""Generated ids of the embedded AWS: the same seed and the same calls yield the same ids.

Every kind of id has a separate stream, so that concurrent work on different kinds does not change
them. There is one generator per process, because moto's services, which also draw from it (see
`moto_ids`), exist once per process.
"""

from __future__ import annotations

import secrets
import string
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from uuid import UUID

VPC, SUBNET, SECURITY_GROUP, ROUTE_TABLE = "vpc", "subnet", "sg", "rtb"
KEY, SECRET, IMAGE = "key id", "secret ARN", "ami"
FILE_SYSTEM, MOUNT_NAME = "fs", "mount name"
"""Kinds of ids that can be chosen."""

_HEX_DIGITS = 17
_LOWER_HEX = string.digits + "abcdef"


class Ids:
    """A generator of ids; without a seed they differ in every process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._chosen: dict[str, str] = {}
        self.seed(None)

    def seed(self, seed: str | None) -> None:
        """Restart all streams with this seed."""
        with self._lock:
            self._seed = seed or secrets.token_hex()
            self._drawn: Counter[str] = Counter()

    def next_seed(self, kind: str) -> str:
        """Return a seed that no other call with this or any other kind gets."""
        with self._lock:
            self._drawn[kind] += 1
            return f"{self._seed}/{kind}/{self._drawn[kind]}"

    def seed_of(self, kind: str) -> str:
        """Return a seed that every call with this kind gets."""
        return f"{self._seed}/{kind}"

    def text(self, kind: str, length: int, alphabet: str) -> str:
        """Return a text of characters of the alphabet."""
        return "".join(self._random(kind).choices(alphabet, k=length))

    def prefixed(self, prefix: str) -> str:
        """Return an id in the format of EC2 and FSx, such as `fs-0123456789abcdef0`."""
        return self.chosen(prefix) or f"{prefix}-{self.text(prefix, _HEX_DIGITS, _LOWER_HEX)}"

    def uuid(self, kind: str) -> str:
        """Return a random UUID."""
        return str(UUID(int=self._random(kind).getrandbits(128), version=4))

    def chosen(self, kind: str) -> str | None:
        """Return the chosen id for the next object of a kind, if any."""
        return self._chosen.get(kind)

    @contextmanager
    def choose(self, kind: str, wanted: str) -> Iterator[None]:
        """Use the wanted id for objects of this kind within the block."""
        self._chosen[kind] = wanted
        try:
            yield
        finally:
            del self._chosen[kind]

    def _random(self, kind: str) -> Random:
        return Random(self.next_seed(kind))  # noqa: S311 - ids are no secrets


ids = Ids()
"""The generator of this process."""
