"""The pace of a training, from its log or a heartbeat: its usual value, hangs and crawls."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

OWN = "slurmpod-watch: "
"""The prefix of the watcher's own lines, which are no progress of the training."""

PAUSE = re.compile(r"(?i)checkpoint|\bsav(?:e|ing)|\bvalidat|\bevaluat|\bcompil")
"""Words in lines that may be followed by a long silence."""

PATTERNS = Path(__file__).with_name("patterns.json")
"""The formats of reported steps: those that `slurmpod job metrics` reads."""

FEWEST = 3
"""The number of intervals after which the usual pace is known."""

RECENT, KEPT = 10, 200
"""The numbers of intervals for the current pace (their median) and for the usual pace."""

SHORTEST_CRAWL = 1.0
"""Seconds; crawls of shorter steps are not reported."""


@dataclass(frozen=True)
class Limits:
    """Allowed silence in seconds and in usual intervals; `slow` defines a crawl."""

    times: float = 10.0
    floor: float = 300.0
    start: float = 1800.0
    pause: float = 1800.0
    slow: float = 3.0


@dataclass
class Pace:
    """The intervals between reports; all times are of one monotonic clock."""

    limits: Limits
    last: float
    intervals: list[float] = field(default_factory=list)
    is_begun: bool = False
    is_pausing: bool = False

    def report(self, now: float, count: int) -> None:
        """Record a number of reports since the last time."""
        interval = (now - self.last) / count
        if self.is_begun and now - self.last <= self.allowed:
            self.intervals = [*self.intervals, *[interval] * count][-KEPT:]
        self.last, self.is_begun, self.is_pausing = now, True, False

    def output(self, now: float, text: str) -> None:
        """Record a line without a step: before the first step it counts as progress, too."""
        if not self.is_begun:
            self.last = now
        elif PAUSE.search(text):
            self.is_pausing = True

    @property
    def usual(self) -> float | None:
        """Seconds from a report to the next; None while that is not known."""
        return median(self.intervals) if len(self.intervals) >= FEWEST else None

    @property
    def allowed(self) -> float:
        """Seconds without a report that are no hang: neither are saves as long as earlier ones."""
        if self.usual is None:
            return max(self.limits.start, self.limits.floor)
        longest = max(self.limits.times * self.usual, 2 * max(self.intervals), self.limits.floor)
        return max(longest, self.limits.pause) if self.is_pausing else longest

    def hangs(self, now: float) -> bool:
        """Return whether it has been silent for too long."""
        return now - self.last > self.allowed

    @property
    def crawl(self) -> tuple[float, float] | None:
        """Seconds of a step now and before, if it has become slow."""
        before, recent = self.intervals[:-RECENT], self.intervals[-RECENT:]
        if len(before) < RECENT:
            return None
        now, usual = median(recent), median(before)
        slow = now >= SHORTEST_CRAWL and now > self.limits.slow * usual
        return (now, usual) if slow else None


class Log:
    """Reads new text of a log from its end on: the number of reports, and the other lines."""

    def __init__(self, path: Path, patterns: list[str] | None = None) -> None:
        self._path = path
        self._offset = path.stat().st_size if path.exists() else 0
        self._rest = ""
        texts = json.loads(PATTERNS.read_text()) if patterns is None else patterns
        self._patterns = [re.compile(text) for text in texts]
        self.step = ""

    def read(self) -> tuple[int, str]:
        """Return how many new steps were reported, and the lines without one."""
        lines = (self._rest + self._new()).replace("\r", "\n").split("\n")
        self._rest = lines.pop()
        count, others = 0, []
        for line in lines:
            step = self._step(line)
            if step is None:
                others.append(line)
            elif step != self.step:
                count, self.step = count + 1, step
        return count, "\n".join(line for line in others if line and not line.startswith(OWN))

    def _new(self) -> str:
        try:
            if self._path.stat().st_size < self._offset:  # a restart has truncated it
                self._offset = 0
            with self._path.open("rb") as file:
                file.seek(self._offset)
                new = file.read()
        except OSError:
            return ""
        self._offset += len(new)
        return new.decode(errors="replace")

    def _step(self, line: str) -> str | None:
        """Return the step in a line, as text; None for any other line.

        In a pattern without named groups the step is the first group, or else the whole match.
        """
        for pattern in self._patterns:
            if found := pattern.search(line):
                known = found.groupdict()
                words = [known.get(name) for name in ("epoch", "done", "step")]
                return " ".join(word for word in words if word) or found[int(not known)]
        return None


class Heartbeat:
    """Reads when a file was last changed, as a replacement for a log."""

    step = ""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._changed = self._time()

    def read(self) -> tuple[int, str]:
        """Return 1 if it was changed since the last time."""
        before, self._changed = self._changed, self._time()
        return int(self._changed != before), ""

    def _time(self) -> float:
        try:
            return self._path.stat().st_mtime
        except OSError:
            return 0.0
