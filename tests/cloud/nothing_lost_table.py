"""What becomes of everything that holds data, event by event: what the tests prove and users read.

`docs/nothing-lost.md` has the table between two marks; `make golden` writes it there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tools.marked_part import with_part


class Event(StrEnum):
    """What happens to the stack of a resource; the text is the head of a column."""

    DESTROY = "stack deleted"
    REPLACE = "change that replaces it"
    RENAME = "renamed in the YAML"
    FAILED_UPDATE = "update fails"
    FAILED_CREATION = "creation fails"


class Fate(StrEnum):
    """What is there afterwards, with its data."""

    STAYS = "stays, held by no stack"
    STAYS_IN_STACK = "stays in its stack as it was"
    NEW_BESIDE_OLD = "an empty new one is made; the old one stays, held by no stack"
    REFUSED = "refused, since its name is fixed; it stays in its stack as it was"
    GONE = "removed, it was empty; deploy again"
    GONE_IF_EMPTY = "removed if it is empty; what was written already stays"
    BLOCKS = "what the file system needs stays; the stack ends in DELETE_FAILED"
    KEPT_BY_SERVICE = "stays, since its deletion is refused; the stack ends in ROLLBACK_FAILED"


class Way(StrEnum):
    """How it comes back into a deployment."""

    IMPORT = "`slurmpod adopt` imports it"
    LINES = "`slurmpod adopt` gives the lines to write"


@dataclass(frozen=True)
class Row:
    """One kind of resource; an event that cannot happen to it has no fate."""

    title: str
    way: Way
    fates: Mapping[Event, Fate]


_COMMON = {
    Event.DESTROY: Fate.STAYS,
    Event.FAILED_UPDATE: Fate.STAYS_IN_STACK,
    Event.FAILED_CREATION: Fate.GONE,
}
_REPLACED = _COMMON | {Event.REPLACE: Fate.NEW_BESIDE_OLD}

ROWS: Mapping[str, Row] = {
    "lustre": Row(
        "FSx for Lustre file system, main and additional",
        Way.LINES,
        _REPLACED | {Event.RENAME: Fate.NEW_BESIDE_OLD},
    ),
    "openzfs": Row("FSx for OpenZFS file system", Way.LINES, _REPLACED),
    "bucket": Row(
        "Buckets: lifecycle scripts, session records",
        Way.IMPORT,
        _REPLACED | {Event.FAILED_CREATION: Fate.GONE_IF_EMPTY},
    ),
    "log_group": Row(
        "Log groups with records: flow logs, sessions, database", Way.IMPORT, _REPLACED
    ),
    "key": Row("KMS keys that slurmpod makes", Way.IMPORT, _COMMON),
    "database": Row(
        "RDS server for job records, with subnet group and parameters",
        Way.IMPORT,
        {
            Event.DESTROY: Fate.STAYS,
            Event.REPLACE: Fate.REFUSED,
            Event.FAILED_UPDATE: Fate.STAYS_IN_STACK,
            Event.FAILED_CREATION: Fate.KEPT_BY_SERVICE,
        },
    ),
    "prometheus": Row("Prometheus workspace", Way.IMPORT, _REPLACED),
    "notebook": Row(
        "Notebook instance, whose volume has what people write there",
        Way.IMPORT,
        _COMMON | {Event.REPLACE: Fate.REFUSED},
    ),
    "network": Row(
        "VPC, subnets and security group with a file system in them",
        Way.IMPORT,
        _COMMON | {Event.DESTROY: Fate.BLOCKS},
    ),
}
"""Everything that holds data, or that data lies in."""

BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"


def table() -> str:
    """Return the table for users, in Markdown."""
    heads = ["", *(str(event) for event in Event), "taken back"]
    lines = [_line(heads), _line(["---"] * len(heads))]
    for row in ROWS.values():
        fates = [str(row.fates.get(event, "does not happen")) for event in Event]
        lines.append(_line([row.title, *fates, str(row.way)]))
    return "\n".join(lines)


def page_with_table(page: str) -> str:
    """Return the page with the table of today between its marks."""
    return with_part(page, BEGIN, END, f"\n{table()}\n")


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
