"""Scripts that a deployment owes to nodes: kept on this machine until they have run there."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

from slurmpod.whole_file import write_whole

FILE = "nodes-due.json"


@dataclass(frozen=True)
class PendingScripts:
    """The nodes whose scripts a deployment owes, and whether those of workers come first."""

    instance_ids: tuple[str, ...] = ()
    workers_first: bool = False

    @classmethod
    def read(cls, file: Path) -> PendingScripts:
        """Read what an earlier deployment owes: nothing where there is no file."""
        if not file.is_file():
            return cls()
        data = json.loads(file.read_text())
        return cls(tuple(data["instance_ids"]), data["workers_first"])

    def write(self, file: Path) -> None:
        """Keep it for the next deployment, if there is anything."""
        if self.instance_ids:
            write_whole(file, json.dumps(dataclasses.asdict(self)))
        else:
            file.unlink(missing_ok=True)
