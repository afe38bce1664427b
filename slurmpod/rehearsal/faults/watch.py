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


class WatchedJob(Protocol):
    """A job that suffers a fault."""

    def losses(self) -> Iterable[str]:
        """Name what it lost."""

    def cancel(self) -> None:
        """Take it away; raises CommandFailed."""


class Watch:
    """Collects what happens between a fault and the cluster's recovery.

    `patience_seconds` is how long a state may take to come, unless its fault knows better.
    """

    def __init__(self, patience_seconds: float) -> None:
        self._patience_seconds = patience_seconds
        self.jobs: list[WatchedJob] = []
        self._moments: list[Moment] = []
        self._injected_at = time.monotonic()

    @property
    def moments(self) -> tuple[Moment, ...]:
        """What happened, in order."""
        return tuple(self._moments)

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
        while True:
            seen: T | str
            try:
                seen = probe()
            except (CommandFailed, MachineFailed) as failure:
                seen = str(failure)
            if seen == wanted:
                return
            waited = time.monotonic() - began
            if waited > patience:
                raise FaultFailed(f"{what}: not {wanted!r} within {patience:g} s, but {seen!r}")
            pause = max(POLL_SECONDS, waited * OF_THE_TIME_SO_FAR)
            time.sleep(min(pause, LONGEST_POLL_SECONDS))

    def _note(self, stage: Stage, what: str) -> None:
        seconds = round(time.monotonic() - self._injected_at, 2)
        self._moments.append(Moment(seconds, stage, what))
