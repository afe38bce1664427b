"""A story: events with their sources and meaning, and the most probable cause. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from slurmpod.operations.why.meanings import BACK, HARDWARE, ROOT, Meaning, meaning_of
from slurmpod.operations.why.node_reasons import NODE_REASONS

TOLD_SECONDS = 2.0
"""Equal lines of one source within this time are one event."""


@dataclass(frozen=True)
class Moment:
    """An event: its time, its source, its text, and its meaning, if known."""

    time: datetime
    source: str
    text: str
    says: str = ""


@dataclass(frozen=True)
class Cause:
    """The most probable cause, and the next step; empty if there is nothing to do."""

    says: str
    fix: str


@dataclass(frozen=True)
class Story:
    """The history of a node or job.

    `now` has the current state by source; `unread` why a source is silent. `cause` is the current
    cause, `also` others beside it, and `began` the first cause, if it is known.
    """

    subject: str
    now: Mapping[str, str]
    moments: tuple[Moment, ...]
    unread: Mapping[str, str]
    cause: Cause
    also: tuple[Cause, ...] = ()
    began: str = ""


def told(moments: Iterable[Moment]) -> tuple[Moment, ...]:
    """Return moments in order with their meaning, without duplicates."""
    found: list[Moment] = []
    for moment in sorted(moments, key=lambda each: each.time):
        if any(_is_same(before, moment) for before in found[-3:]):
            continue
        meaning = meaning_of_line(moment.text)
        found.append(replace(moment, says=meaning.says) if meaning else moment)
    return tuple(found)


def _is_same(before: Moment, moment: Moment) -> bool:
    is_alike = (before.source, before.text) == (moment.source, moment.text)
    return is_alike and (moment.time - before.time).total_seconds() < TOLD_SECONDS


def meaning_of_line(text: str) -> Meaning | None:
    """Return the meaning of a log line; for one that sets a node's reason, that of the reason."""
    _, given, reason = text.partition("reason set to: ")
    known = meaning_of(reason, NODE_REASONS) if given else None
    return known or meaning_of(text)


def beginning_of(
    story: Sequence[Moment], launched: datetime | None, well_at: datetime | None, reason: str
) -> Meaning | None:
    """Return the first cause of a node's state, which Slurm gives this reason; None if unknown.

    Events before the node last took jobs are over, except for hardware faults; events before
    its instance was launched are another node's. `well_at` is when a job last succeeded on it.
    """
    back = max((each.time for each in story if BACK.search(each.text)), default=None)
    over = max(filter(None, (back, well_at)), default=None)
    found = []
    for moment in story:
        meant = meaning_of_line(moment.text)
        if meant is None or meant.weight < ROOT or (reason and reason in moment.text):
            continue
        is_over = over is not None and moment.time <= over and meant.weight < HARDWARE
        if not is_over and (launched is None or moment.time >= launched):
            found.append(meant)
    return max(reversed(found), key=lambda each: each.weight, default=None)


def most_probable(meanings: Iterable[Meaning | None]) -> Meaning | None:
    """Return the meaning with the greatest weight, the last of equal ones; None without any."""
    found = [each for each in meanings if each is not None and each.weight]
    return max(reversed(found), key=lambda each: each.weight, default=None)
