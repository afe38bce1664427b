"""What `make golden` runs: every test that writes, and nothing else."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.golden_files import ROOT
from tests.golden_selection import FIXTURE, WritersOnly, names_the_fixture, writes

pytest_plugins = ["pytester"]

FIXTURES = f"""
import pytest

@pytest.fixture
def {FIXTURE}():
    return True

@pytest.fixture
def page({FIXTURE}):
    return "page"
"""


def test_writers_run_and_files_without_them_are_not_even_imported(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(FIXTURES)
    pytester.makepyfile(
        test_pages=f"""
            def test_a_page_is_fresh({FIXTURE}): pass
            def test_one_through_another_fixture(page): pass
            def test_a_page_has_links(): assert False
        """,
        test_others="raise RuntimeError('imported')",
    )
    run = pytester.inline_run("-p", "no:cacheprovider", plugins=[WritersOnly()])
    passed, skipped, failed = run.listoutcomes()
    names = [report.nodeid.rpartition("::")[2] for report in passed]
    assert names == ["test_a_page_is_fresh", "test_one_through_another_fixture"]
    assert not skipped
    assert not failed


def test_the_option_selects_them() -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    part = ["tests/pure/test_fidelity.py", "tests/pure/test_problems.py"]
    done = subprocess.run(
        [*command, "--update-golden", *part], cwd=ROOT, capture_output=True, text=True
    )
    found = [line for line in done.stdout.splitlines() if "::" in line]
    assert found == ["tests/pure/test_fidelity.py::test_the_tables_of_behaviours_are_fresh"]


def test_no_writer_is_missed(request: pytest.FixtureRequest) -> None:
    """Of all tests that are collected with this one: a file has to name the fixture itself."""
    writers = [item for item in request.session.items if writes(item)]
    assert [item.nodeid for item in writers if not names_the_fixture(item.path)] == []
