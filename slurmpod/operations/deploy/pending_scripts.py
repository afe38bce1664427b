"""Pending scripts of a deployment: kept on this machine until they have run on the nodes."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

from slurmpod.whole_file import write_whole

FILE = "nodes-due.json"


@dataclass(frozen=True)
class PendingScripts:
    """The nodes with pending scripts, and whether workers come first."""

    instance_ids: tuple[str, ...] = ()
    workers_first: bool = False

    @classmethod
    def read(cls, file: Path) -> PendingScripts:
        """Read the pending scripts of an earlier deployment; none without a file."""
        if not file.is_file():
            return cls()
        data = json.loads(file.read_text())
        return cls(tuple(data["instance_ids"]), data["workers_first"])

    def write(self, file: Path) -> None:
        """Save them for the next deployment, if there are any."""
        if self.instance_ids:
            write_whole(file, json.dumps(dataclasses.asdict(self)))
        else:
            file.unlink(missing_ok=True)
