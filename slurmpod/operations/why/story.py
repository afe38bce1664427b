"""A story: what happened when, who says so, what it means, and the most probable cause. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from slurmpod.operations.why.meanings import BACK, HARDWARE, ROOT, Meaning, meaning_of
from slurmpod.operations.why.node_reasons import NODE_REASONS

TOLD_SECONDS = 2.0
"""Lines of one source that are alike and this close are one event."""


@dataclass(frozen=True)
class Moment:
    """One thing that happened: when, who says so, its words, and what they mean, if known."""

    time: datetime
    source: str
    text: str
    says: str = ""


@dataclass(frozen=True)
class Cause:
    """The most probable cause, and what to do next; empty where there is nothing to do."""

    says: str
    fix: str


@dataclass(frozen=True)
class Story:
    """What happened to a node or job.

    `now` says by whom it is known how it is now; `unread` why a source is silent. `cause` is what
    holds now, `also` what holds beside it, and `began` what it began with, if that is known.
    """

    subject: str
    now: Mapping[str, str]
    moments: tuple[Moment, ...]
    unread: Mapping[str, str]
    cause: Cause
    also: tuple[Cause, ...] = ()
    began: str = ""


def told(moments: Iterable[Moment]) -> tuple[Moment, ...]:
    """Return moments in order with what they mean, those told twice once."""
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
    """Return what a line of a log means; those that give a node a reason mean what that means."""
    _, given, reason = text.partition("reason set to: ")
    known = meaning_of(reason, NODE_REASONS) if given else None
    return known or meaning_of(text)


def beginning_of(
    story: Sequence[Moment], launched: datetime | None, well_at: datetime | None, reason: str
) -> Meaning | None:
    """Return what the state of a node, which Slurm gives this reason, began with; None if unknown.

    What was before the node last took jobs is over, but for faults of the hardware; what was before
    its instance was launched is another node's. `well_at` is when a job last ended well there.
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
    """Return the meaning of the greatest weight, of equal ones the last; None for none."""
    found = [each for each in meanings if each is not None and each.weight]
    return max(reversed(found), key=lambda each: each.weight, default=None)
