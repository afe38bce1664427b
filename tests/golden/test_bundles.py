"""The bundles of all environments: their list of files, and the rendered ones."""

from __future__ import annotations

import pytest

from slurmpod.bundle import Bundle, render_bundle
from slurmpod.cli.environment import sound_environment
from tests.environment_files import FILES
from tests.golden_files import ROOT, assert_matches

GOLDEN = ROOT / "tests" / "golden" / "bundles"
RENDERED = {"provisioning_parameters.json", "settings.json"}
BUNDLES = {
    file.stem: bundle
    for file in FILES.values()
    if (bundle := render_bundle(sound_environment(file).resolved))
}


@pytest.mark.parametrize(("name", "bundle"), BUNDLES.items(), ids=list(BUNDLES))
def test_rendered_files_are_the_reviewed_ones(
    name: str, bundle: Bundle, update_golden: bool
) -> None:
    for path in sorted(RENDERED & bundle.files.keys()):
        assert_matches(GOLDEN / name / path, bundle.files[path].decode(), update=update_golden)


@pytest.mark.parametrize(("name", "bundle"), BUNDLES.items(), ids=list(BUNDLES))
def test_the_files_of_the_bundle_are_the_reviewed_ones(
    name: str, bundle: Bundle, update_golden: bool
) -> None:
    listing = "".join(f"{path}\n" for path in bundle.files)
    assert_matches(GOLDEN / name / "files.txt", listing, update=update_golden)


def test_no_reviewed_bundle_is_left_over() -> None:
    reviewed = {path for path in GOLDEN.rglob("*") if path.is_file()}
    known = {
        GOLDEN / name / path
        for name, bundle in BUNDLES.items()
        for path in {"files.txt", *(RENDERED & bundle.files.keys())}
    }
    assert reviewed == known
