"""Watching one fault: its moments, the states that are waited for, and the jobs that suffer it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeVar

from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.shell import CommandFailed

POLL_SECONDS = 0.1
"""How long to wait before one looks again, at first."""

OF_THE_TIME_SO_FAR = 0.1
"""Later it is this part of the time so far, up to LONGEST_POLL_SECONDS: looking takes processor
time, which what is waited for needs, too."""

LONGEST_POLL_SECONDS = 1.0

TOLD_EVERY_SECONDS = 60.0
"""How often a wait that goes on is told where nothing can be told in place of something else."""

T = TypeVar("T")


class FaultFailed(Exception):
    """The cluster did not behave as the fault's description says; the text says what it did."""


class Stage(Enum):
    """The stage of a fault."""

    INJECTED = "injected"
    NOTICED = "noticed"
    MENDED = "mended"
    RECOVERED = "recovered"


@dataclass(frozen=True)
class Moment:
    """Something that happened, in seconds after the fault was injected."""

    seconds: float
    stage: Stage
    what: str


class Teller(Protocol):
    """Tells a person what goes on while a fault takes its time."""

    def now(self, detail: str) -> None:
        """Tell what is going on, in place of what was told before."""

    def note(self, text: str) -> None:
        """Tell something that stays."""


class Silence:
    """Tells nobody."""

    def now(self, detail: str) -> None:
        """Tell nothing."""

    def note(self, text: str) -> None:
        """Tell nothing."""


class WatchedJob(Protocol):
    """A job that suffers a fault."""

    def losses(self) -> Iterable[str]:
        """Name what it lost."""

    def cancel(self) -> None:
        """Take it away; raises CommandFailed."""


class Watch:
    """Collects what happens between a fault and the cluster's recovery.

    `patience_seconds` is how long a state may take to come, unless its fault knows better. What
    happens, and what is waited for, is told.
    """

    def __init__(self, patience_seconds: float, teller: Teller | None = None) -> None:
        self._patience_seconds = patience_seconds
        self._teller = teller or Silence()
        self.jobs: list[WatchedJob] = []
        self._moments: list[Moment] = []
        self._injected_at = time.monotonic()

    @property
    def moments(self) -> tuple[Moment, ...]:
        """What happened, in order."""
        return tuple(self._moments)

    @property
    def injected_at(self) -> float:
        """When the fault came, in seconds of time.monotonic()."""
        return self._injected_at

    def injected(self, what: str) -> None:
        """Note that the fault is there: time counts from now."""
        self._injected_at = time.monotonic()
        self._note(Stage.INJECTED, what)

    def noticed(self, what: str) -> None:
        """Note that a user can see it."""
        self._note(Stage.NOTICED, what)

    def mended(self, what: str) -> None:
        """Note that its cause is gone, or that a person did what only a person can do."""
        self._note(Stage.MENDED, what)

    def recovered(self, what: str) -> None:
        """Note that something is as it was before."""
        self._note(Stage.RECOVERED, what)

    def until(
        self, what: str, probe: Callable[[], T], wanted: T, *, seconds: float | None = None
    ) -> None:
        """Wait until `probe` returns `wanted`; raises FaultFailed with what it returned last.

        A command that fails, or a node that does not run, only means that it is not so yet.
        """
        patience = seconds or self._patience_seconds
        began = time.monotonic()
        told = 0.0
        while True:
            waited = time.monotonic() - began
            self._teller.now(f"waiting for {waited:.0f} s of {patience:.0f} s at most: {what}")
            if waited - told >= TOLD_EVERY_SECONDS:
                told = waited
                self._teller.note(f"  still waiting, for {waited:.0f} s: {what}")
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
        """Let a state last for some time."""
        end = time.monotonic() + seconds
        self.until(what, lambda: time.monotonic() > end, wanted=True, seconds=2 * seconds)

    def _note(self, stage: Stage, what: str) -> None:
        seconds = round(time.monotonic() - self._injected_at, 2)
        self._moments.append(Moment(seconds, stage, what))
        self._teller.note(f"  {seconds:6.1f} s  {stage.value}: {what}")
