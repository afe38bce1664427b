"""What `make test` leaves out is proved there for another case, and docs/testing.md lists it."""

from __future__ import annotations

import re

import pytest

from tests.further_cases import FURTHER, Further, is_further, with_table
from tests.golden_files import ROOT, assert_matches

PAGE = ROOT / "docs" / "testing.md"
each = pytest.mark.parametrize("further", FURTHER, ids=lambda further: further.tests)


def names(node_id: str) -> list[str]:
    """Return the classes and functions that a node id names, and fail without its file."""
    file, *rest = node_id.partition("[")[0].split("::")
    text = (ROOT / "tests" / file).read_text()
    defined = re.findall(r"^ *(?:class|def) (\w+)", text, re.MULTILINE)
    return [name for part in rest for name in defined if name.startswith(part)]


@each
def test_its_tests_and_their_proof_are_there(further: Further) -> None:
    assert len(names(further.tests)) >= further.tests.count("::")
    assert len(names(further.proof)) == further.proof.count("::")


@each
def test_its_proof_is_in_make_test(further: Further) -> None:
    assert not is_further(further.proof)


def test_the_case_that_proves_it_is_not_left_out() -> None:
    interrupted = "nodes/test_take_down.py::TestInterruption::test_leaves_nothing"
    assert is_further(f"{interrupted}[2-running scripts]")
    assert not is_further(f"{interrupted}[1-starting]")


def test_the_page_lists_them(update_golden: bool) -> None:
    assert_matches(PAGE, with_table(PAGE.read_text()), update=update_golden)
