"""The bundles of the example environments: their list of files, and the rendered ones."""

from __future__ import annotations

import pytest

from slurmpod.model.loader import load
from slurmpod.rendering import Bundle, render_bundle
from slurmpod.resolve import resolve
from tests.golden_files import ROOT, assert_matches

GOLDEN = ROOT / "tests" / "golden" / "bundles"
ENVIRONMENTS = sorted(path.stem for path in (ROOT / "environments").glob("*.yaml"))


def bundle_of(name: str) -> Bundle:
    environment = load(ROOT / "environments" / f"{name}.yaml").environment
    assert environment is not None
    return render_bundle(resolve(environment))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_rendered_files_are_the_reviewed_ones(name: str, update_golden: bool) -> None:
    bundle = bundle_of(name)
    for path in bundle.deploy_time_files:
        assert_matches(GOLDEN / name / path, bundle.files[path].decode(), update=update_golden)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_files_of_the_bundle_are_the_reviewed_ones(name: str, update_golden: bool) -> None:
    listing = "".join(f"{path}\n" for path in bundle_of(name).files)
    assert_matches(GOLDEN / name / "files.txt", listing, update=update_golden)


def test_no_reviewed_bundle_is_left_over() -> None:
    assert sorted(folder.name for folder in GOLDEN.iterdir()) == ENVIRONMENTS
