"""The bundles of all environments: their list of files, and the rendered ones."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from slurmpod.bundle import render_bundle
from slurmpod.cli.environment import sound_environment
from tests.environment_files import FILES
from tests.golden_files import ROOT, assert_matches

GOLDEN = ROOT / "tests" / "cases" / "golden" / "bundles"
RENDERED = {"provisioning_parameters.json", "settings.json"}


@cache
def golden_files(name: str) -> dict[Path, str]:
    """Return the reviewed texts of an environment: none in managed mode, which has no bundle."""
    bundle = render_bundle(sound_environment(FILES[name]).resolved)
    if bundle is None:
        return {}
    rendered = {path: bundle.files[path].decode() for path in RENDERED & bundle.files.keys()}
    texts = {**rendered, "files.txt": "".join(f"{path}\n" for path in bundle.files)}
    return {GOLDEN / name / path: text for path, text in texts.items()}


@pytest.mark.parametrize("name", FILES)
def test_bundles_are_the_reviewed_ones(name: str, update_golden: bool) -> None:
    for path, text in golden_files(name).items():
        assert_matches(path, text, update=update_golden)


def test_no_reviewed_bundle_is_left_over() -> None:
    reviewed = {path for path in GOLDEN.rglob("*") if path.is_file()}
    assert reviewed == {path for name in FILES for path in golden_files(name)}
