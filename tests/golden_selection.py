"""`--update-golden` runs the tests that write files, and no others.

These are the tests that use the fixture `update_golden`, directly or through another fixture. Only
files that name it are imported: that saves most of the time that pytest would need.
"""

from __future__ import annotations

from pathlib import Path

import pytest

FIXTURE = "update_golden"


def names_the_fixture(file: Path) -> bool:
    """Return whether a file of tests can have a test that writes."""
    return FIXTURE in file.read_text(encoding="utf-8")


def writes(item: pytest.Item) -> bool:
    """Return whether a test writes files when asked to."""
    return FIXTURE in getattr(item, "fixturenames", ())


class WritersOnly:
    """The plugin that deselects all other tests."""

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Skip the import of files without the fixture; None leaves the decision to pytest."""
        is_file = collection_path.suffix == ".py" and collection_path.is_file()
        return True if is_file and not names_the_fixture(collection_path) else None

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Deselect the other tests of a file."""
        config.hook.pytest_deselected(items=[item for item in items if not writes(item)])
        items[:] = [item for item in items if writes(item)]
