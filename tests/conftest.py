from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# How long a case takes is no finding, and the same commit gives the same cases everywhere; to look
# for new ones: pytest --hypothesis-profile=search
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=500)
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files instead of comparing"
    )


TESTS = Path(__file__).parent
FIRST = "rehearsal"
"""Its files take minutes each: begun last, one process would wait for the other."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with real nodes; where several processes run tests, each takes a file at a time."""
    items.sort(key=lambda item: item.path.relative_to(TESTS).parts[0] != FIRST)


@pytest.fixture(scope="session")
def update_golden(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("--update-golden"))
