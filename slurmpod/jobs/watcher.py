"""The watcher of a training: its files and options."""

from __future__ import annotations

import json
from collections.abc import Mapping

from slurmpod.bundle.templates import FOLDER
from slurmpod.jobs.metrics.formats import BAR, FORMATS
from slurmpod.jobs.metrics.log import STEP
from slurmpod.value import Value

FOLDER_OF_JOB = "slurmpod_watch"
WATCHED = "training.sbatch"
"""The script that starts its step with the watcher."""

OFF = "off"
ACTIONS = ("tell", "requeue", "restart", OFF)


class Watching(Value):
    """The action on a hang, and the minimum of silent seconds for one."""

    action: str = ACTIONS[0]
    hang_after: int | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """Options of the watcher; none if it is off."""
        if self.action == OFF:
            return ()
        floor = () if self.hang_after is None else ("--hang-after", str(self.hang_after))
        return ("--action", self.action, *floor)


DEFAULT_WATCHING = Watching()


def watcher_files() -> Mapping[str, bytes]:
    """Return its programs by name, with the patterns of steps that `job metrics` reads, too."""
    patterns = [STEP.pattern, *(each.pattern.pattern for each in FORMATS), BAR.pattern]
    programs = {
        f"{FOLDER_OF_JOB}/{path.name}": path.read_bytes()
        for path in (FOLDER / "jobs" / FOLDER_OF_JOB).glob("*.py")
    }
    listed = json.dumps(patterns, indent=2).encode() + b"\n"
    return {**programs, f"{FOLDER_OF_JOB}/patterns.json": listed}
