"""A file without an edition becomes the templates and scripts that it had before there were any.

`tests/cases/golden/edition_2024` has an environment as it was then, and what it became. A
difference here is one in clusters that run: update these files only if it is meant for them.
"""

from __future__ import annotations

import pytest

from slurmpod.cli.environment import sound_environment
from tests.golden_files import ROOT, assert_matches
from tests.templates.synthesis import Synthesized, synthesize
from tests.templates.test_golden import templates

OLD = ROOT / "tests" / "cases" / "golden" / "edition_2024"
RENDERED = ("provisioning_parameters.json", "settings.json")


@pytest.fixture(scope="module", name="old")
def _old() -> Synthesized:
    return synthesize(sound_environment(OLD / "environment.yaml").resolved)


def test_its_templates_are_those_that_it_had(old: Synthesized, update_golden: bool) -> None:
    for path, text in templates(old).items():
        assert_matches(OLD / path.name, text, update=update_golden)


@pytest.mark.parametrize("name", RENDERED)
def test_its_scripts_read_what_they_did(old: Synthesized, name: str, update_golden: bool) -> None:
    assert_matches(OLD / name, old.bundle.files[name].decode(), update=update_golden)


def test_no_reviewed_file_is_left_over(old: Synthesized) -> None:
    known = {*RENDERED, *(path.name for path in templates(old)), "environment.yaml"}
    assert {path.name for path in OLD.iterdir()} == known
