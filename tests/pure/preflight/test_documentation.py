"""docs/preflight.md is as fresh as the checks that it lists."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest

from slurmpod.preflight import listed
from slurmpod.preflight.check import CHECKS, check
from slurmpod.preflight.subjects.quotas import QUOTAS, Quota
from slurmpod.problem_text import problems_text
from slurmpod.reading.read import read
from slurmpod.rules.check import sound
from tests.golden_files import ROOT, assert_matches
from tests.pure.preflight.test_check import FACTS
from tools.preflight_table import with_checks

PAGE = ROOT / "docs" / "preflight.md"


def test_the_table_of_checks_is_fresh(update_golden: bool) -> None:
    assert_matches(PAGE, with_checks(PAGE.read_text()), update=update_golden)


def test_what_explain_shows_of_checks_is_fresh(update_golden: bool) -> None:
    assert_matches(listed.FILE, listed.to_json(CHECKS), update=update_golden)
    shown = [replace(each, check=None) for each in CHECKS]
    assert list(listed.listed_checks()) == shown


def test_the_page_shows_a_problem_as_it_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    quota = Quota("sagemaker", "L-8762A75F", "ml.p5.48xlarge for cluster usage", 0)
    environment = sound(read(Path("environments/p5-prod.yaml")))
    problems = check(environment, replace(FACTS, environment="p5-prod", answers={QUOTAS: (quota,)}))
    assert problems_text(problems, io.StringIO()) in PAGE.read_text()
