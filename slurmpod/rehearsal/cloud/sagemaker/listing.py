"""How the List operations filter by time, sort and page. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.errors import ServiceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LARGEST_PAGE = 100


@dataclass(frozen=True)
class Entry:
    """One result: by what it is sorted, and how the API shows it."""

    name: str
    created_at: datetime
    shape: Mapping[str, Any]


def list_page(
    entries: Sequence[Entry], given: Mapping[str, Any]
) -> tuple[list[Mapping[str, Any]], str | None]:
    """Return one page of a List operation's results and the token of the next, if any.

    The token is the number of results that came before; raises ValidationException for others.
    """
    found = [entry for entry in entries if _is_between(entry.created_at, given)]
    by_name = given.get("SortBy") == "NAME"
    found.sort(key=lambda entry: entry.name if by_name else entry.created_at.isoformat())
    if given.get("SortOrder") == "Descending":
        found.reverse()
    start = _start(given.get("NextToken"))
    end = start + given.get("MaxResults", _LARGEST_PAGE)
    token = str(end) if end < len(found) else None
    return [entry.shape for entry in found[start:end]], token


def _start(token: str | None) -> int:
    if token is None:
        return 0
    if not token.isdecimal():
        raise ServiceError("ValidationException", "NextToken is not valid")
    return int(token)


def _is_between(moment: datetime, given: Mapping[str, Any]) -> bool:
    after, before = given.get("CreationTimeAfter"), given.get("CreationTimeBefore")
    return (after is None or moment > _utc(after)) and (before is None or moment < _utc(before))


def _utc(moment: datetime) -> datetime:
    """Read a request's time, which arrives without a zone and means UTC."""
    return moment.replace(tzinfo=UTC)
