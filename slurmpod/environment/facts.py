"""Facts about AWS known to this version of slurmpod: `data/facts.csv`.

A fact has a date and a source, and says where AWS publishes it in a form that programs read: `make
facts` compares it there. Newer values pass with a warning (rule NEW-001).
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType

from slurmpod.value import Value

FACTS_FILE = Path(__file__).parents[1] / "data" / "facts.csv"

TABLE = "file:"
"""Prefix of a fact's values that refers to a separate file beside the table of facts."""

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


class Fact(Value):
    """Values that AWS has, as of a date.

    `left_out` are further values of AWS that slurmpod does not support. `form` is that of values
    which AWS may add; `table` the file that holds the values; `checked_against` says where AWS
    publishes them, as `tools.facts` reads it, or nothing.
    """

    name: str
    values: tuple[str, ...]
    left_out: tuple[str, ...]
    form: str
    as_of: str
    source: str
    checked_against: str
    table: str

    @property
    def when(self) -> str:
        """The date in words: November 2026."""
        year, month = self.as_of.split("-")
        return f"{MONTHS[int(month) - 1]} {year}"

    @property
    def numbers(self) -> tuple[int, ...]:
        """The values as numbers."""
        return tuple(map(int, self.values))


def fact(name: str) -> Fact:
    """Return the fact of this name; a name missing from the table is a bug in slurmpod."""
    return facts()[name]


def table(of: Fact) -> Sequence[str]:
    """Return the lines of the table that a fact has."""
    return (FACTS_FILE.parent / of.table).read_text(encoding="utf-8").split()


@cache
def facts() -> Mapping[str, Fact]:
    """Return all facts by name."""
    with FACTS_FILE.open(encoding="utf-8", newline="") as file:
        found = [_fact(row) for row in csv.DictReader(file)]
    return MappingProxyType({each.name: each for each in found})


def _fact(row: dict[str, str]) -> Fact:
    is_table = row["values"].startswith(TABLE)
    return Fact(
        name=row["name"],
        values=() if is_table else tuple(row["values"].split()),
        left_out=tuple(row["left_out"].split()),
        form=row["form"],
        as_of=row["as_of"],
        source=row["source"],
        checked_against=row["checked_against"],
        table=row["values"].removeprefix(TABLE) if is_table else "",
    )
