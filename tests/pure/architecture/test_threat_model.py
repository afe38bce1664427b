"""docs/threat-model.md names actors, assets and tests: all of them are there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.golden_files import ROOT

PAGE = (ROOT / "docs/threat-model.md").read_text(encoding="utf-8")
TEST = re.compile(r"`(tests/[\w/]+\.py(?:::\w+)+)`")
NO_TEST = "none"


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table below a heading, without its first line."""
    _, _, below = PAGE.partition(f"\n{heading}\n")
    section = re.split(r"\n##", below, maxsplit=1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def names(heading: str) -> list[str]:
    return [row[0] for row in rows(heading)]


ACTORS = names("## Actors")
TESTS = sorted(set(TEST.findall(PAGE)))


def in_file(path: Path) -> Iterator[str]:
    """Yield the tests of a file, and its classes that have some, as pytest names them."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.name
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield node.name
            yield from (
                f"{node.name}::{each.name}"
                for each in node.body
                if isinstance(each, ast.FunctionDef) and each.name.startswith("test_")
            )


@pytest.mark.parametrize("named", TESTS)
def test_a_test_that_the_page_names_is_there(named: str) -> None:
    file, _, test = named.partition("::")
    assert test in in_file(ROOT / file)


def test_every_path_of_a_test_is_read_as_one() -> None:
    assert PAGE.count(".py::") == len(TEST.findall(PAGE))


def test_the_page_has_a_part_for_every_actor_and_no_other() -> None:
    assert re.findall(r"^### (.+)$", PAGE, flags=re.MULTILINE) == ACTORS


@pytest.mark.parametrize("actor", ACTORS)
def test_an_actor_has_rows_with_assets_and_tests(actor: str) -> None:
    found = rows(f"### {actor}")
    assert found
    for assets, reach, _, shown in found:
        assert set(assets.split(", ")) <= set(names("## Assets"))
        assert reach
        assert shown == NO_TEST or TEST.findall(shown)


def test_every_asset_is_somebodys_aim() -> None:
    aims = {
        asset for actor in ACTORS for row in rows(f"### {actor}") for asset in row[0].split(", ")
    }
    assert aims == set(names("## Assets"))
