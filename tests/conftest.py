from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

from embedded_aws.server import collect_garbage_rarely
from tests.search_depth import REPEATABLE

settings.load_profile(REPEATABLE)
collect_garbage_rarely()  # most of what tests hold, such as the services of moto, stays anyway

CDK_VALIDATION = "CDK_VALIDATION"
os.environ.setdefault(CDK_VALIDATION, "false")
"""The CDK's own check of templates takes half of a synthesis: functional/test_examples.py has it
look at every environment once, and no other test waits for it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files instead of comparing"
    )


TESTS = Path(__file__).parent
ALL_ENVIRONMENTS = "tests/stacks/"
"""The folder whose files share the synthesis of every environment, and therefore a process."""

LONG = (
    "rehearsal",
    "stacks",
    "functional/test_examples.py",
    "property",
    "functional",
    "rules",
)
"""Folders and files that take long, the longest first: begun last, one process would wait."""


class FilesTogether(LoadFileScheduling):  # type: ignore[misc]
    """Gives each process a file at a time; `ALL_ENVIRONMENTS` counts as one file."""

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(ALL_ENVIRONMENTS):
            return ALL_ENVIRONMENTS
        return str(super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FilesTogether | None:
    return FilesTogether(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long."""
    items.sort(key=lambda item: _turn(item.path.relative_to(TESTS).as_posix()))


def _turn(file: str) -> int:
    return next((turn for turn, long in enumerate(LONG) if file.startswith(long)), len(LONG))


@pytest.fixture(scope="session")
def update_golden(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("--update-golden"))
