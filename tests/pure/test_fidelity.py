"""docs/fidelity.md has every behaviour that stands beside the code, and each has its tests."""

from __future__ import annotations

import pytest

from tests.golden_files import ROOT, assert_matches
from tools.fidelity_tables import FOLDERS, behaviours, with_behaviours

PAGE = ROOT / "docs" / "fidelity.md"


def test_the_tables_of_behaviours_are_fresh(update_golden: bool) -> None:
    page = with_behaviours(PAGE.read_text(encoding="utf-8"))
    assert "### SageMaker's cluster API" in page
    assert "| UpdateCluster | new nodes are created first" in page
    assert_matches(PAGE, page, update=update_golden)


@pytest.mark.parametrize("part", FOLDERS)
def test_every_behaviour_names_tests_that_there_are(part: str) -> None:
    named = {
        test: entry.what
        for each in behaviours(part)
        for entry in each.entries
        for test in entry.tests
    }
    assert {test: what for test, what in named.items() if not (ROOT / test).is_file()} == {}


def test_nothing_is_said_twice() -> None:
    said = [e.what for part in FOLDERS for each in behaviours(part) for e in each.entries]
    assert len(said) == len(set(said))
