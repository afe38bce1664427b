"""The lifecycle scripts that failed a rehearsal: on which node, at which line, with what output."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from slurmpod.rehearsal.failed_line import Place, failed_line
from slurmpod.rehearsal.journal_entries import LIFECYCLE_FAILED, LOGS_FOLDER
from slurmpod.rehearsal.state import JournalReader
from slurmpod.rules.egress import needs_internet

LINES_SHOWN = 20

NO_NAMES = ("Temporary failure resolving", "Temporary failure in name resolution", "resolve host")
"""How programs say that there is no internet: apt, glibc and curl."""

NO_PACKAGE = re.compile(r"^E: (?:Unable to locate package |Package ')(?P<name>[a-z0-9.+-]+)")
"""How apt says that it knows no such package."""

WITHOUT_INTERNET = (
    "A node of a rehearsal reaches no internet.\n"
    "  fix: bring what the scripts need in the image:"
    " slurmpod prepare --with {packages} --name IMAGE"
)


@dataclass(frozen=True)
class FailedScripts:
    """The first node whose scripts failed; its log, below the folder of all logs; and the line."""

    hostname: str
    log: Path
    last_lines: tuple[str, ...]
    place: Place | None

    def told(self, logs: Path) -> str:
        """Return what a person needs to know, line by line; `logs` is the folder of all logs."""
        where = f", {self.place}" if self.place else ""
        lines = [f"The scripts failed on {self.hostname}{where}"]
        if self._needed_internet():
            lines.append(WITHOUT_INTERNET.format(packages=self._packages() or "PACKAGE"))
        shown = (f"  {line}" for line in self.last_lines)
        return "\n".join([*lines, f"The last lines of {logs / self.log}:", *shown])

    def _packages(self) -> str:
        """Return the packages that apt did not find."""
        found = (match for line in self.last_lines if (match := NO_PACKAGE.search(line)))
        return " ".join(dict.fromkeys(match["name"] for match in found))

    def _needed_internet(self) -> bool:
        if self._packages() or (self.place and needs_internet(self.place.text)):
            return True
        return any(words in line for line in self.last_lines for words in NO_NAMES)


def failed_scripts(folder: Path, files: Mapping[str, bytes]) -> FailedScripts | None:
    """Return whose scripts failed first in the rehearsal in `folder`, or None if nobody's did.

    `files` are the scripts by their path in the bundle.
    """
    events = JournalReader(folder).new_events()
    name = next((event.subject for event in events if event.what == LIFECYCLE_FAILED), None)
    logs = sorted(
        (folder / LOGS_FOLDER).glob(f"{name}-i-*.log"), key=lambda log: log.stat().st_mtime
    )
    if name is None or not logs:
        return None
    output = logs[-1].read_text(errors="replace")
    last = [line for line in output.splitlines() if line.strip()][-LINES_SHOWN:]
    return FailedScripts(
        name, logs[-1].relative_to(folder), tuple(last), failed_line(output, files)
    )
