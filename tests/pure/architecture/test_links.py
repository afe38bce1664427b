"""Links of pages to files and headings of this repository: all of them are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.golden_files import ROOT

PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for file, heading in LINK.findall(page.read_text(encoding="utf-8")):
        target = page.parent / file if file else page
        assert target.exists(), file
        assert not heading or heading in headings(target), f"{file}#{heading}"


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, new = set[Path](), {PAGES[0]}
    while new:
        reached |= new
        new = {
            (page.parent / file).resolve()
            for page in new
            for file, _ in LINK.findall(page.read_text(encoding="utf-8"))
            if file.endswith(".md")
        } - reached
    assert reached >= set(PAGES)


def headings(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    words = (re.sub(r"[^\w\- ]", "", found) for found in HEADING.findall(page.read_text()))
    return {each.strip().lower().replace(" ", "-") for each in words}
