"""The page of a report in a real browser: on a screen, a phone and paper, light and dark."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from slurmpod.report.page import Known, page_of
from tests.programs.browser.chromium import Page, browser
from tests.pure.report.known import known, planned, rehearsed

WIDTHS = {"desk": 1200, "phone": 390, "small phone": 320}
PAPER_WIDTH = 718
"""A4 at 96 dots per inch, without the margins of Chromium."""

PAGES: dict[str, Callable[[], Known]] = {
    "aws": known,
    "plan": planned,
    "rehearsal": partial(rehearsed, failure="a-name-without-any-space" * 20),
}
BACKGROUND = "getComputedStyle(document.querySelector('section')).backgroundColor"
CUT_OFF = """
[...document.querySelectorAll('%s')]
  .filter(each => each.scrollWidth > each.clientWidth + 1).map(each => each.outerHTML.slice(0, 90))
"""
PARTS = "header, section, .figures li, nav li, .facts dd, .row"
BARS = "[...document.querySelectorAll('.timeline .bar')].map(bar => bar.clientWidth)"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A page of Chromium; without it tests are skipped, but not in CI."""
    program = shutil.which("chromium")
    if program is None:
        reason = "there is no chromium; 'make browser' installs it"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with browser(program, tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(params=PAGES)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "report.html"
    path.write_text(page_of(PAGES[request.param]()))
    return path


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_fits_every_screen_without_complaints_and_loads_nothing_else(
    page: Page, file: Path, dark: bool
) -> None:
    page.complaints.clear()
    page.loaded.clear()
    for width in WIDTHS.values():
        page.show(file, width=width, dark=dark)
        assert page.value("document.documentElement.scrollWidth") <= width
        assert page.value(CUT_OFF % PARTS) == []
    assert page.complaints == []
    assert {each for each in page.loaded if not each.startswith("data:")} == {file.as_uri()}


def test_it_is_dark_where_the_reader_wants_it_and_light_on_paper(page: Page, file: Path) -> None:
    seen = {}
    for name, dark, media in (
        ("light", False, "screen"),
        ("dark", True, "screen"),
        ("paper", True, "print"),
    ):
        page.show(file, width=PAPER_WIDTH, dark=dark, media=media)
        seen[name] = page.value(BACKGROUND)
    assert seen["light"] == seen["paper"] == "rgb(255, 255, 255)"
    assert seen["dark"] == "rgb(24, 30, 40)"


def test_on_paper_all_of_it_can_be_read(page: Page, file: Path, tmp_path: Path) -> None:
    page.show(file, width=PAPER_WIDTH, media="print")
    assert page.value(CUT_OFF % f"{PARTS}, .scroll") == []
    assert page.value("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert page.value("document.querySelector('details ul').getBoundingClientRect().height") > 100
    page.print(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def test_bars_are_as_long_as_what_they_stand_for(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(page_of(known()))
    page.show(file, width=WIDTHS["desk"])
    network, vpc, endpoint, cluster, *_ = page.value(BARS)
    assert network == pytest.approx(1.5 * vpc, rel=0.05)
    assert network == pytest.approx(3 * endpoint, rel=0.05)
    assert cluster == pytest.approx(5 * network, rel=0.05)
