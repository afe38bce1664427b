"""Watching one fault: its moments, the states to wait for, and the affected jobs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeVar

from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.shell import CommandFailed

POLL_SECONDS = 0.1
"""The first polling interval."""

OF_THE_TIME_SO_FAR = 0.1
"""Later intervals are this fraction of the time so far, up to LONGEST_POLL_SECONDS: polling takes
CPU time that the awaited state also needs."""

LONGEST_POLL_SECONDS = 1.0

REPORTED_EVERY_SECONDS = 60.0
"""How often a long wait is reported if lines cannot be updated in place."""

T = TypeVar("T")


class FaultFailed(Exception):
    """The cluster did not behave as the fault's description says; the text says what it did."""


class Stage(Enum):
    """A stage of a fault."""

    INJECTED = "injected"
    NOTICED = "noticed"
    REPAIRED = "repaired"
    RECOVERED = "recovered"


@dataclass(frozen=True)
class Moment:
    """An event, in seconds after the fault was injected."""

    seconds: float
    stage: Stage
    what: str


class Teller(Protocol):
    """Reports progress to a user during a fault."""

    def now(self, detail: str) -> None:
        """Show what is going on, in place of the previous detail."""

    def note(self, text: str) -> None:
        """Show a permanent line."""


class Silence:
    """Discards all progress messages."""

    def now(self, detail: str) -> None:
        """Discard the detail."""

    def note(self, text: str) -> None:
        """Discard the line."""


class WatchedJob(Protocol):
    """A job that is affected by a fault."""

    def losses(self) -> Iterable[str]:
        """Return descriptions of what it lost."""

    def cancel(self) -> None:
        """Cancel the job; raises CommandFailed."""


class Watch:
    """Records what happens between a fault and the cluster's recovery.

    `patience_seconds` is the default time limit for a state. Events and waits are reported to
    the teller.
    """

    def __init__(self, patience_seconds: float, teller: Teller | None = None) -> None:
        self._patience_seconds = patience_seconds
        self._teller = teller or Silence()
        self.jobs: list[WatchedJob] = []
        self._moments: list[Moment] = []
        self._injected_at = time.monotonic()

    @property
    def moments(self) -> tuple[Moment, ...]:
        """All moments, in order."""
        return tuple(self._moments)

    @property
    def injected_at(self) -> float:
        """When the fault was injected, in seconds of time.monotonic()."""
        return self._injected_at

    def injected(self, what: str) -> None:
        """Record that the fault was injected: time counts from now."""
        self._injected_at = time.monotonic()
        self._note(Stage.INJECTED, what)

    def noticed(self, what: str) -> None:
        """Record that a user can notice it."""
        self._note(Stage.NOTICED, what)

    def repaired(self, what: str) -> None:
        """Record that its cause is gone, or that a user's part of the repair is done."""
        self._note(Stage.REPAIRED, what)

    def recovered(self, what: str) -> None:
        """Record that something is as it was before."""
        self._note(Stage.RECOVERED, what)

    def until(
        self, what: str, probe: Callable[[], T], wanted: T, *, seconds: float | None = None
    ) -> None:
        """Wait until `probe` returns `wanted`; raises FaultFailed with its last value.

        A failed command, or a node that does not run, only means that the wait continues.
        """
        patience = seconds or self._patience_seconds
        began = time.monotonic()
        reported = 0.0
        while True:
            waited = time.monotonic() - began
            self._teller.now(f"waiting, {waited:.0f} s of at most {patience:.0f} s: {what}")
            if waited - reported >= REPORTED_EVERY_SECONDS:
                reported = waited
                self._teller.note(f"  still waiting after {waited:.0f} s: {what}")
            seen: T | str
            try:
                seen = probe()
            except (CommandFailed, MachineFailed) as failure:
                seen = str(failure)
            if seen == wanted:
                return
            if waited > patience:
                raise FaultFailed(f"{what}: not {wanted!r} within {patience:g} s, but {seen!r}")
            pause = max(POLL_SECONDS, waited * OF_THE_TIME_SO_FAR)
            time.sleep(min(pause, LONGEST_POLL_SECONDS))

    def hold(self, what: str, seconds: float) -> None:
        """Keep a state for some time."""
        end = time.monotonic() + seconds
        self.until(what, lambda: time.monotonic() > end, wanted=True, seconds=2 * seconds)

    def _note(self, stage: Stage, what: str) -> None:
        seconds = round(time.monotonic() - self._injected_at, 2)
        self._moments.append(Moment(seconds, stage, what))
        self._teller.note(f"  {seconds:6.1f} s  {stage.value}: {what}")
