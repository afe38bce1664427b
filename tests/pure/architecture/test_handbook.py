"""The handbook: every page has its place in the navigation, and links stay inside."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

from tests.golden_files import ROOT
from tools.handbook import PAGES, laid_out, pages_of

CONFIGURATION = "docs/site/zensical.toml"
EXAMPLE = """\
[the README](../README.md), [dev](../environments/dev.yaml), [nodes](nodes.md#new-software),
[examples](../environments/examples), [AWS](https://aws.amazon.com), [below](#below)
"""


def pages_in(navigation: list[dict[str, Any]]) -> Iterator[str]:
    for entry in navigation:
        for inner in entry.values():
            yield from pages_in(inner) if isinstance(inner, list) else [inner]


def test_every_page_has_one_place_in_the_navigation() -> None:
    configuration = tomllib.loads((ROOT / CONFIGURATION).read_text())
    listed = sorted(pages_in(configuration["project"]["nav"]))
    assert listed == sorted(pages_of(PAGES)), f"write the page into `nav` of {CONFIGURATION}"


def test_files_outside_of_the_pages_become_pages() -> None:
    pages = laid_out({"a.md": EXAMPLE, "fields/b.md": "[c](../../environments/dev.yaml)"})
    assert pages["a.md"] == (
        "[the README](index.md), [dev](files/environments/dev.yaml.md),"
        " [nodes](nodes.md#new-software),\n[examples](files/environments/examples/index.md),"
        " [AWS](https://aws.amazon.com), [below](#below)\n"
    )
    assert pages["fields/b.md"] == "[c](../files/environments/dev.yaml.md)"
    assert "# environments/dev.yaml\n\n~~~~ yaml\n" in pages["files/environments/dev.yaml.md"]
    assert "- [watched.yaml](watched.yaml.md)\n" in pages["files/environments/examples/index.md"]
    assert "files/environments/examples/watched.yaml.md" in pages
