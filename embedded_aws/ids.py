"""Ids that the embedded AWS makes up: the same seed and the same calls give the same ones.

Every kind of id is a stream of its own, so that work on different things side by side changes
nothing. There is one generator per process, because moto's services, which draw from it, too (see
`moto_ids`), live once per process.
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
"""The kinds of ids that can be chosen."""

_HEX_DIGITS = 17
_LOWER_HEX = string.digits + "abcdef"


class Ids:
    """A generator of ids; without a seed they are different in every process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._chosen: dict[str, str] = {}
        self.seed(None)

    def seed(self, seed: str | None) -> None:
        """Begin anew."""
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
        """Return an id as EC2 and FSx have them, such as `fs-0123456789abcdef0`."""
        return self.chosen(prefix) or f"{prefix}-{self.text(prefix, _HEX_DIGITS, _LOWER_HEX)}"

    def uuid(self, kind: str) -> str:
        """Return a random UUID."""
        return str(UUID(int=self._random(kind).getrandbits(128), version=4))

    def chosen(self, kind: str) -> str | None:
        """Return the id that the next thing of a kind has to get, if one was chosen."""
        return self._chosen.get(kind)

    @contextmanager
    def choose(self, kind: str, wanted: str) -> Iterator[None]:
        """Let what is made of a kind have the wanted id, for as long as the block."""
        self._chosen[kind] = wanted
        try:
            yield
        finally:
            del self._chosen[kind]

    def _random(self, kind: str) -> Random:
        return Random(self.next_seed(kind))  # noqa: S311 - ids are no secrets


ids = Ids()
"""The one generator of this process."""
