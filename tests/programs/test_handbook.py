"""`make docs`: the handbook is built with all of its pages, and loads nothing from the network."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.golden_files import ROOT
from tools.handbook import PAGES, SITE, pages_of

INSTALLING_SECONDS = 1200
LOADED = re.compile(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"(https?:[^\"]*)")

pytestmark = pytest.mark.timeout(INSTALLING_SECONDS)


def test_the_handbook_is_whole_and_loads_nothing_from_elsewhere() -> None:
    done = subprocess.run(["make", "docs"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for page in pages_of(PAGES):
        html = (SITE / page).with_suffix(".html").read_text()
        assert LOADED.findall(html) == [], page
        assert 'src="' in html
    assert "capacity_gib" in (SITE / "search.js").read_text()
