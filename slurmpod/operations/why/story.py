"""A story: what happened when, who says so, what it means, and the most probable cause. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from slurmpod.operations.why.meanings import BACK, ROOT, Meaning, meaning_of

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

    `now` says by whom it is known how it is now; `unread` why a source is silent.
    """

    subject: str
    now: Mapping[str, str]
    moments: tuple[Moment, ...]
    unread: Mapping[str, str]
    cause: Cause


def told(moments: Iterable[Moment]) -> tuple[Moment, ...]:
    """Return moments in order with what they mean, those told twice once."""
    found: list[Moment] = []
    for moment in sorted(moments, key=lambda each: each.time):
        if any(_is_same(before, moment) for before in found[-3:]):
            continue
        meaning = meaning_of(moment.text)
        found.append(replace(moment, says=meaning.says) if meaning else moment)
    return tuple(found)


def _is_same(before: Moment, moment: Moment) -> bool:
    is_alike = (before.source, before.text) == (moment.source, moment.text)
    return is_alike and (moment.time - before.time).total_seconds() < TOLD_SECONDS


def meanings_for_a_node(story: Sequence[Moment]) -> list[Meaning]:
    """Return what moments mean for a node that is out of service now.

    What Slurm held against the node before it last took jobs is over; what was behind it may not
    be, as a fault of the hardware seldom goes by itself.
    """
    back = max((i for i, each in enumerate(story) if BACK.search(each.text)), default=-1)
    found = ((i, meaning_of(each.text)) for i, each in enumerate(story))
    return [meant for i, meant in found if meant and (i > back or meant.weight >= ROOT)]


def most_probable(meanings: Iterable[Meaning | None]) -> Cause | None:
    """Return the cause of the greatest weight, of equal ones the last; None where there is none."""
    found = [each for each in meanings if each is not None and each.weight]
    if not found:
        return None
    root = max(reversed(found), key=lambda each: each.weight)
    return Cause(root.says, root.fix)
