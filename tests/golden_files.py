"""Golden files: the project's rendered output, kept as files so that changes show as a diff."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def assert_matches(file: Path, text: str, *, update: bool) -> None:
    """Fail unless `file` contains `text`; with `update` (from --update-golden), write it."""
    if update:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        pytest.fail(f"{file.relative_to(ROOT)} differs: run 'make golden' and read the diff")
