"""Sources of staged files: objects below a prefix of S3, or the lines of an index."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

S3 = "s3://"
BLOCK = 1 << 20
QUIET_SECONDS = 60
"""The time limit for a silent web server."""

KEPT_BACK = ".slurmpod-staged"
"""The folder with staging's own records."""


class NotRead(Exception):
    """A source that could not be read completely."""


@dataclass(frozen=True)
class Item:
    """A file of the source: its name below the destination, and the metadata of its content."""

    path: str
    size: int
    address: str
    sha256: str = ""
    etag: str = ""

    @property
    def identity(self) -> str:
        """Metadata that differ if the content does."""
        return self.sha256 or self.etag


def items_of(source: str, region: str) -> list[Item]:
    """Return the files of a prefix, or of an index, sorted by name."""
    items = _listed(source, region) if source.startswith(S3) else _indexed(Path(source))
    odd = sorted(item.path for item in items if _is_odd(item.path))
    folders = {str(parent) for item in items for parent in PurePosixPath(item.path).parents}
    odd += sorted(item.path for item in items if item.path in folders)
    if odd:
        sys.exit(f"these cannot be names of files: {', '.join(map(repr, odd[:10]))}")
    if not items:
        sys.exit(f"there is nothing at {source}")
    return sorted(items, key=lambda item: item.path)


def _listed(source: str, region: str) -> list[Item]:
    """List a prefix with the AWS CLI, which goes through all pages."""
    bucket, _, prefix = source.removeprefix(S3).partition("/")
    command = ["aws", "s3api", "list-objects-v2", "--region", region, "--bucket", bucket]
    query = ["--prefix", prefix, "--query", "Contents[].[Key,Size,ETag]", "--output", "json"]
    done = subprocess.run([*command, *query], check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{source} cannot be listed: {done.stderr.strip()}")
    found = json.loads(done.stdout or "null") or []
    return [
        Item(key.removeprefix(prefix), size, f"{S3}{bucket}/{key}", etag=etag.strip('"'))
        for key, size, etag in found
        if not key.endswith("/")
    ]


def _indexed(index: Path) -> list[Item]:
    """Read an index, whose lines were checked when it was written into the job's folder."""
    words = [line.split(maxsplit=3) for line in index.read_text(encoding="utf-8").splitlines()]
    return [
        Item(path, int(size), address, sha256=sha256)
        for sha256, size, address, path in (line for line in words if line and line[0][0] != "#")
    ]


def _is_odd(path: str) -> bool:
    parts = path.split("/")
    return (
        not path.isprintable() or parts[0] == KEPT_BACK or any(p in ("", ".", "..") for p in parts)
    )


def read(item: Item, region: str, offset: int, take: Callable[[bytes], object]) -> dict[str, Any]:
    """Read a file from `offset` on; return S3's metadata. Raises NotRead."""
    if item.address.startswith(S3):
        return _read_object(item, region, offset, take)
    try:
        return _read_web(item, offset, take)
    except (OSError, urllib.error.URLError) as error:
        raise NotRead(f"{item.address}: {error}") from None


def _read_object(
    item: Item, region: str, offset: int, take: Callable[[bytes], object]
) -> dict[str, Any]:
    """Let the AWS CLI write into a pipe, such that nothing is lost if it is interrupted."""
    bucket, _, key = item.address.removeprefix(S3).partition("/")
    command = ["aws", "s3api", "get-object", "--region", region, "--bucket", bucket, "--key", key]
    command += ["--if-match", f'"{item.etag}"'] if item.etag else []
    command += ["--range", f"bytes={offset}-"] if offset else []
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as errors:
        target = f"/dev/fd/{writing}"
        aws = subprocess.Popen(
            [*command, "--output", "json", target], stdout=said, stderr=errors, pass_fds=(writing,)
        )
        os.close(writing)
        with os.fdopen(reading, "rb") as content:
            while block := content.read(BLOCK):
                take(block)
        if aws.wait():
            errors.seek(0)
            raise NotRead(errors.read().decode(errors="replace").strip()[-500:])
        said.seek(0)
        answer: dict[str, Any] = json.loads(said.read() or b"{}")
        return answer


def _read_web(item: Item, offset: int, take: Callable[[bytes], object]) -> dict[str, Any]:
    if not item.address.startswith(("https://", "http://")):
        raise NotRead(f"{item.address} is no address of a web server")
    request = urllib.request.Request(item.address)  # noqa: S310
    if offset:
        request.add_header("Range", f"bytes={offset}-")
    with urllib.request.urlopen(request, timeout=QUIET_SECONDS) as answer:  # noqa: S310
        skipped = 0 if answer.status == 206 else offset
        while skipped:
            skipped -= len(answer.read(min(skipped, BLOCK))) or skipped
        while block := answer.read(BLOCK):
            take(block)
    return {}


def part_size(item: Item, region: str) -> int:
    """Return the part size of an object's upload; 0 if it is unknown."""
    bucket, _, key = item.address.removeprefix(S3).partition("/")
    command = ["aws", "s3api", "head-object", "--region", region, "--bucket", bucket, "--key", key]
    command += ["--part-number", "1", "--output", "json"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    size = int(json.loads(done.stdout).get("ContentLength", 0)) if not done.returncode else 0
    parts = int(item.etag.rpartition("-")[2])
    return size if size and -(-item.size // size) == parts else 0
