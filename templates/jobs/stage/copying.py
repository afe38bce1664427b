"""Copy a share of the files: several at a time, each verified against the source's metadata."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from digests import BLOCK, OF_PARTS, WHOLE, Digests, of_file
from records import Record, Records
from sources import KEPT_BACK, S3, Item, NotRead, part_size, read

TRIES = 5
PAUSE_SECONDS = 5.0
SECONDS_BETWEEN_LINES = 10.0
GB = 1e9


class Refused(Exception):
    """A file that was not copied, and why."""


class Share:
    """The files of one task."""

    def __init__(self, items: list[Item], at: Path, region: str, task: str) -> None:
        self.items = items
        self.at = at
        self.region = region
        self.task = task
        self.records = Records(at)
        self.known = self.records.all()
        self.copied = 0
        self.complete = 0
        self._one_at_a_time = threading.Lock()
        self._began = self._told = time.monotonic()

    def copy(self, streams: int) -> list[str]:
        """Copy all files; return the errors of those that failed."""
        (self.at / KEPT_BACK / "parts").mkdir(exist_ok=True)
        with ThreadPoolExecutor(streams) as pool:
            problems = [said for said in pool.map(self._bring, self.items) if said]
        self._tell()
        return problems

    def _bring(self, item: Item) -> str:
        try:
            self._stage(item)
        except (Refused, NotRead, OSError) as error:
            return f"{item.path}: {error}"
        with self._one_at_a_time:
            self.complete += 1
            if time.monotonic() - self._told > SECONDS_BETWEEN_LINES:
                self._tell()
        return ""

    def _stage(self, item: Item) -> None:
        """Copy a file unless it is there."""
        target, before = self.at / item.path, self.known.get(item.path)
        if before and before.is_of(item) and before.is_untouched(self.at):
            return
        parts = part_size(item, self.region) if OF_PARTS.fullmatch(item.etag) else 0
        if target.is_file() and target.stat().st_size == item.size:
            there = of_file(target, parts)
            if proof := _proof(item, there, {}):
                self._record(item, target, there, proof)
                return
        if os.path.lexists(target) and not before:
            raise Refused("another file is there, which was not staged: move it away")
        self._fetch(item, target, parts)

    def _fetch(self, item: Item, target: Path, parts: int) -> None:
        name = hashlib.sha256(f"{item.path} {item.address} {item.identity}".encode()).hexdigest()
        part = self.at / KEPT_BACK / "parts" / name
        if part.exists() and part.stat().st_size >= item.size:
            part.unlink()  # complete, but not verified: S3 gives its metadata only with the content
        for tries_left in reversed(range(TRIES)):
            digests = of_file(part, parts) if part.exists() else Digests(parts)
            try:
                said = self._append(item, part, digests)
                break
            except NotRead:
                if not tries_left:
                    raise
                time.sleep(PAUSE_SECONDS)
        proof = _proof(item, digests, said)
        if not proof:
            part.unlink()
            raise Refused(f"its content is not what the source says: SHA-256 {digests.sha256}")
        target.parent.mkdir(parents=True, exist_ok=True)
        part.replace(target)
        self._record(item, target, digests, proof)

    def _append(self, item: Item, part: Path, digests: Digests) -> dict[str, Any]:
        """Fetch the missing part of a file, and compute its digest when it is complete."""
        with part.open("ab", buffering=BLOCK) as written:

            def take(block: bytes) -> None:
                written.write(block)
                digests.take(block)
                with self._one_at_a_time:
                    self.copied += len(block)
                    if time.monotonic() - self._told > SECONDS_BETWEEN_LINES:
                        self._tell()

            said = read(item, self.region, digests.size, take)
        if digests.size < item.size:
            raise NotRead(f"{item.address} ended after {digests.size} of {item.size} bytes")
        return said

    def _record(self, item: Item, target: Path, digests: Digests, proof: str) -> None:
        left = target.stat()
        sizes = (left.st_size, left.st_mtime_ns)
        record = Record(item.path, *sizes, digests.sha256, item.etag, proof)
        with self._one_at_a_time:
            self.records.add(record, self.task)

    def _tell(self) -> None:
        """Print the progress of this task."""
        self._told = time.monotonic()
        speed = self.copied / 1e6 / max(self._told - self._began, 0.001)
        print(
            f"task {self.task}: {self.complete} of {len(self.items)} files are there,"
            f" {self.copied / GB:.2f} GB copied, {speed:.0f} MB/s",
            flush=True,
        )


def _proof(item: Item, digests: Digests, said: dict[str, Any]) -> str:
    """Return the proof that a content is the source's; nothing if it is not.

    The ETag of an object that KMS encrypts is no digest. Of an object that the AWS CLI has just
    read, it is the one that was requested.
    """
    if digests.size != item.size:
        return ""
    if item.sha256:
        return "sha256" if digests.sha256 == item.sha256 else ""
    is_encrypted = str(said.get("ServerSideEncryption", "")).startswith("aws:kms")
    has_digest = WHOLE.fullmatch(item.etag) or digests.part_size
    if digests.etag == item.etag:
        return "etag"
    if said and item.address.startswith(S3) and (is_encrypted or not has_digest):
        return "size"
    return ""
