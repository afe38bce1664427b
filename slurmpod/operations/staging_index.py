"""An index of files: their SHA-256, size, address and name, a line for each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from urllib.parse import parse_qsl, urlsplit

from slurmpod.problems import InvalidEnvironment, Problem, Severity, Where
from slurmpod.value import Value

SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
SIZE = re.compile(r"[0-9]{1,18}", re.ASCII)
KEPT_BACK = ".slurmpod-staged"
SIGNED = frozenset({"x-amz-signature", "signature", "sig", "token", "access_token"})
"""Names in the query of an address that make it a secret."""

FORM = "write: SHA256 SIZE ADDRESS PATH, e.g. as sha256sum and stat print them"


class Entry(Value):
    """A line of an index."""

    sha256: str
    size: int
    address: str
    path: str
    line: int

    @property
    def bucket_and_key(self) -> tuple[str, str] | None:
        """Its location in S3; None for other addresses."""
        parts = urlsplit(self.address)
        return (parts.netloc, parts.path[1:]) if parts.scheme == "s3" else None


def read_index(name: str, text: str) -> tuple[Entry, ...]:
    """Return the entries of an index; raises InvalidEnvironment with all its mistakes."""
    entries: list[Entry] = []
    problems: list[Problem] = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split(maxsplit=3)
        if not words or words[0].startswith("#"):
            continue
        mistakes = list(_mistakes(words))
        problems += [_problem(name, number, *mistake) for mistake in mistakes]
        if not mistakes:
            sha256, size, address, path = words
            entries.append(Entry(sha256, int(size), address, path.rstrip(), number))
    problems += [_problem(name, each.line, *said) for each, said in _clashes(entries)]
    if not entries and not problems:
        problems = [_problem(name, 1, "the index is empty", FORM)]
    if problems:
        raise InvalidEnvironment(problems)
    return tuple(entries)


def _problem(name: str, line: int, message: str, fix: str) -> Problem:
    return Problem("ENV-004", Severity.ERROR, Where(name, line), message, fix)


def _mistakes(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the mistakes of one line, and their fixes."""
    if len(words) < 4:
        yield "a line must have four words", FORM
        return
    sha256, size, address, path = words
    if not SHA256.fullmatch(sha256):
        yield f"'{sha256[:70]}' is not a SHA-256", FORM
    if not SIZE.fullmatch(size):
        yield f"'{size[:30]}' is not a number of bytes", FORM
    yield from _mistakes_in_address(address)
    if mistake := mistake_in_path(path.rstrip()):
        yield mistake, "write a path below the folder, such as train/0001.bin"


def _mistakes_in_address(address: str) -> Iterator[tuple[str, str]]:
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    if "@" in parts.netloc or any(name.lower() in SIGNED for name, _ in parse_qsl(parts.query)):
        secret = (
            f"the address at {host} contains a secret, which would be written to shared storage"
        )
        yield secret, "remove it; nodes read from S3 with their role"
    elif parts.scheme not in ("s3", "https", "http") or not host or not parts.path[1:]:
        yield (
            f"'{address[:200]}' is not the address of a file",
            "write s3://BUCKET/KEY, or https://...",
        )


def mistake_in_path(path: str) -> str | None:
    """Return why this cannot be the name of a staged file, or None."""
    parts = path.split("/")
    if not path.isprintable() or any(each in ("", ".", "..") for each in parts):
        return f"'{path[:200]}' is not a path below a folder"
    if parts[0] == KEPT_BACK:
        return f"{KEPT_BACK} is reserved for staging's own files"
    return None


def _clashes(entries: list[Entry]) -> Iterator[tuple[Entry, tuple[str, str]]]:
    """Yield entries whose paths conflict with others."""
    folders = {str(parent) for each in entries for parent in PurePosixPath(each.path).parents}
    seen: set[str] = set()
    for each in entries:
        if each.path in seen:
            yield each, (f"{each.path} is named twice", "remove one of them")
        elif each.path in folders:
            yield each, (f"{each.path} is also a folder of other entries", "rename one of them")
        seen.add(each.path)
