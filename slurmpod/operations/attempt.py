"""Things that are looked at side by side, and may each not be there to be read."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from slurmpod.problems import WorkFailed

T = TypeVar("T")


@dataclass(frozen=True)
class Unavailable:
    """What stands in the place of a thing that could not be read: why."""

    why: str


def read(ask: Callable[[], T]) -> T | Unavailable:
    """Return what `ask` returns, or why it could not."""
    try:
        return ask()
    except WorkFailed as failure:
        return Unavailable(str(failure))


def read_from(work: Future[T]) -> T | Unavailable:
    """Return what comes of work that goes on at the same time, or why nothing does."""
    return read(work.result)


def plain(found: Any) -> Any:
    """Return what was found as plain data; what could not be read is `{"unread": why}`."""
    if isinstance(found, Unavailable):
        return {"unread": found.why}
    if dataclasses.is_dataclass(found):
        return {each.name: plain(getattr(found, each.name)) for each in dataclasses.fields(found)}
    if isinstance(found, Mapping):
        return {key: plain(value) for key, value in found.items()}
    if isinstance(found, tuple):
        return [plain(each) for each in found]
    if isinstance(found, frozenset):
        return sorted(found)
    return found.isoformat() if isinstance(found, datetime) else found
