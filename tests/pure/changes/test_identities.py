"""Entries of lists are told apart by what they are, not by their place."""

from __future__ import annotations

from typing import Any

from slurmpod.changes.compare import IDENTITIES
from slurmpod.environment.base import Kind
from slurmpod.environment.descriptions import all_sections, entry_section
from tests.pure.changes.comparing import between, summary


def data_buckets(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"identity": {"data_buckets": list(entries)}}


WHOLE = {"bucket": "corpora"}
PART = {"bucket": "corpora", "prefix": "released/"}
OTHER = {"bucket": "results", "access": "write"}


def test_parts_of_a_bucket_are_entries_of_their_own() -> None:
    found = between(data_buckets(WHOLE, PART), data_buckets(PART, OTHER, WHOLE))
    assert summary(found) == [("identity.data_buckets.results", Kind.IN_PLACE)]
    changed = {**PART, "access": "write"}
    (change,) = between(data_buckets(WHOLE, PART), data_buckets(changed, WHOLE))
    assert change.path == "identity.data_buckets.corpora.released/.access"


def test_entries_of_every_list_can_be_told_apart() -> None:
    fields = [field for section in all_sections() for field in section.model_fields.values()]
    entries = {entry for field in fields if (entry := entry_section(field))}
    assert len(entries) > 10
    assert [each for each in entries if not set(IDENTITIES) & set(each.model_fields)] == []
