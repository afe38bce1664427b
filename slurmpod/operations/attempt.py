"""Reads that run side by side and may each fail."""

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
    """The reason in place of a value that could not be read."""

    why: str


def read(ask: Callable[[], T]) -> T | Unavailable:
    """Return the result of `ask`, or the reason for its failure."""
    try:
        return ask()
    except WorkFailed as failure:
        return Unavailable(str(failure))


def read_from(work: Future[T]) -> T | Unavailable:
    """Return the result of background work, or the reason for its failure."""
    return read(work.result)


def plain(found: Any) -> Any:
    """Return the result as plain data; a failed read is `{"unread": why}`."""
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
