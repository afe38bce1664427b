"""Things that are looked at side by side, and may each not be there to be read."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TypeVar

from slurmpod.problems import WorkFailed

T = TypeVar("T")


@dataclass(frozen=True)
class Unread:
    """What stands in the place of a thing that could not be read: why."""

    why: str


def read(ask: Callable[[], T]) -> T | Unread:
    """Return what `ask` returns, or why it could not."""
    try:
        return ask()
    except WorkFailed as failure:
        return Unread(str(failure))


def read_from(work: Future[T]) -> T | Unread:
    """Return what comes of work that goes on at the same time, or why nothing does."""
    return read(work.result)
