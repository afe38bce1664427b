"""The lifecycle scripts that failed a rehearsal: the node, the line and the output."""

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
"""Messages of apt, glibc and curl that mean there is no internet access."""

NO_PACKAGE = re.compile(r"^E: (?:Unable to locate package |Package ')(?P<name>[a-z0-9.+-]+)")
"""apt's message for an unknown package."""

WITHOUT_INTERNET = (
    "Nodes of a rehearsal have no internet access.\n"
    "  fix: add what the scripts need to the image:"
    " slurmpod prepare --with {packages} --name IMAGE"
)


@dataclass(frozen=True)
class FailedScripts:
    """The first node whose scripts failed, its log (relative to the log folder) and the line."""

    hostname: str
    log: Path
    last_lines: tuple[str, ...]
    place: Place | None

    def description(self, logs: Path) -> str:
        """Return what the user needs to know, line by line; `logs` is the folder of all logs."""
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
    """Return the first scripts that failed in the rehearsal in `folder`, or None if none did.

    `files` are the scripts, keyed by their path in the bundle.
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
