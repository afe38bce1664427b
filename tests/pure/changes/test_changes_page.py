"""docs/changes.md has every field with what its change does, and is as fresh as the sections."""

from __future__ import annotations

from collections import Counter

from tests.golden_files import ROOT, assert_matches
from tools.changes_page import changes_page
from tools.sections import told_sections


def test_the_page_of_changes_is_fresh(update_golden: bool) -> None:
    assert_matches(ROOT / "docs" / "changes.md", changes_page(), update=update_golden)


def test_the_page_says_each_thing_once() -> None:
    prose = [line for line in changes_page().splitlines() if line and not line.startswith("- ")]
    assert {line for line, times in Counter(prose).items() if times > 1} == set()


def test_the_page_has_every_field_below_what_its_change_does() -> None:
    usual = changes_page().split("## Less, or taken out")[0]
    fields = [field for told in told_sections() for field in told.fields]
    assert usual.count("](fields/") == len(fields) + 1
    refused = usual.split("## Refused\n")[1]
    assert "[`zone`](fields/network.md#networkzone)" in refused


def test_the_page_has_what_holds_where_it_is_less() -> None:
    less = changes_page().split("## Less, or taken out\n")[1].split("\n## ")[0]
    assert (
        "**refused**. FSx refuses: a file system cannot shrink. Create a new one.\n\n"
        "- `storage.lustre`: [`capacity_gib`](fields/storage.md#storagelustrecapacity_gib)\n"
    ) in less


def test_the_page_says_where_the_same_fields_are_again() -> None:
    assert "- `storage.additional_lustre[]` has the fields of `storage.lustre`\n" in changes_page()
