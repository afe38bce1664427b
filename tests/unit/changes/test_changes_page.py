"""docs/changes.md is as fresh as the table that it is made of."""

from __future__ import annotations

from tests.golden_files import ROOT, assert_matches
from tools.changes_page import changes_page


def test_the_page_of_changes_is_fresh(update_golden: bool) -> None:
    assert_matches(ROOT / "docs" / "changes.md", changes_page(), update=update_golden)


def test_the_page_has_every_field_at_its_place() -> None:
    page = changes_page()
    assert "## storage.lustre.data_repositories[]\n" in page
    assert "| `capacity_gib` | in place |" in page
    assert "less: refused" in page
