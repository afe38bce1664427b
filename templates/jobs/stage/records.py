"""The files staged into a folder: a line of JSON for each file, kept in the folder itself.

Parallel tasks write separate files, each line as soon as it is true; the last step of a job
combines them.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from sources import KEPT_BACK, Item

MANIFEST = "manifest.jsonl"


@dataclass(frozen=True)
class Record:
    """A staged file as it was when complete; `proof` says how its content was verified."""

    path: str
    size: int
    mtime_ns: int
    sha256: str
    etag: str
    proof: str

    def is_of(self, item: Item) -> bool:
        """Return whether this is the source's current content."""
        mine = self.sha256 if item.sha256 else self.etag
        return self.size == item.size and mine == item.identity

    def is_untouched(self, folder: Path) -> bool:
        """Return whether the file is unchanged."""
        file = folder / self.path
        try:
            now = file.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        return (now.st_size, now.st_mtime_ns) == (self.size, self.mtime_ns)


class Records:
    """The records of a folder."""

    def __init__(self, folder: Path) -> None:
        self.place = folder / KEPT_BACK

    def all(self) -> dict[str, Record]:
        """Return all records by path; the newest one of a file counts."""
        found: dict[str, Record] = {}
        for file in [self.place / MANIFEST, *self._of_tasks()]:
            for line in file.read_text().splitlines() if file.exists() else ():
                if line.endswith("}"):  # an incomplete line does not count
                    record = Record(**json.loads(line))
                    found[record.path] = record
        return found

    def add(self, record: Record, task: str) -> None:
        """Record a file of this task."""
        with (self.place / f"task-{task}.jsonl").open("a") as written:
            written.write(f"{json.dumps(asdict(record))}\n")

    def conclude(self) -> None:
        """Combine the tasks' files into one."""
        tasks = self._of_tasks()
        lines = [f"{json.dumps(asdict(each))}\n" for _, each in sorted(self.all().items())]
        new = self.place / f".{MANIFEST}"
        new.write_text("".join(lines))
        new.replace(self.place / MANIFEST)
        for file in tasks:
            file.unlink()

    def _of_tasks(self) -> list[Path]:
        return sorted(self.place.glob("task-*.jsonl"), key=lambda file: file.stat().st_mtime_ns)
