"""Where values come from, in comments that are no part of the data."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from slurmpod.cli.expand import LINE_LIMIT, origins, with_origins
from slurmpod.reading.merge import merged
from slurmpod.reading.read import read
from slurmpod.reading.yaml_source import YamlSource, read_yaml
from tests.golden_files import ROOT

ENVIRONMENT = {
    "name": "dev",
    "tags": {"team": "ml", "a: #b": "c # d"},
    "protected": False,
    "list": [{"name": "x", "count": 3, "zone": None}, {"name": "y", "count": 1, "zone": None}],
    "nothing": {},
    "none": [],
}


@pytest.fixture(name="source")
def _source() -> YamlSource:
    base = read_yaml("all/shared/_base.yaml", "tags:\n  team: ml\nlist:\n  - name: x\n    count: 2")
    child = read_yaml("all/dev.yaml", "name: dev\nlist:\n  - {name: x, count: 3}\n  - name: y\n")
    return merged(base, child)


def test_each_value_has_the_file_and_line_that_decide_about_it(source: YamlSource) -> None:
    assert origins(ENVIRONMENT, source) == {
        "name": "all/dev.yaml:1",
        "tags.team": "all/shared/_base.yaml:2",
        "tags.a: #b": "default",
        "protected": "default",
        "list[0].name": "all/dev.yaml:3",
        "list[0].count": "all/dev.yaml:3",
        "list[0].zone": "default",
        "list[1].name": "all/dev.yaml:4",
        "list[1].count": "default",
        "list[1].zone": "default",
        "nothing": "default",
        "none": "default",
    }


def test_a_default_of_an_edition_names_it() -> None:
    defaults = {"lifecycle": {"mode": "extended"}, "cluster": {"provisioning": "continuous"}}
    source = read_yaml("dev.yaml", "edition: 2026\nlifecycle: {mode: extended}\n")
    found = origins({"edition": 2026, **defaults}, source)
    assert found["cluster.provisioning"] == "edition 2026"
    assert found["lifecycle.mode"] == "dev.yaml:2"
    without = origins({"edition": 2024, **defaults}, YamlSource("dev.yaml"))
    assert without["cluster.provisioning"] == "default"


def test_comments_name_files_from_the_folder_of_the_environment(source: YamlSource) -> None:
    assert with_origins(ENVIRONMENT, source).splitlines() == [
        "name: dev           # dev.yaml:1",
        "tags:",
        "  team: ml          # shared/_base.yaml:2",
        "  'a: #b': 'c # d'  # default",
        "protected: false    # default",
        "list:",
        "- name: x           # dev.yaml:3",
        "  count: 3          # dev.yaml:3",
        "  zone: null        # default",
        "- name: y           # dev.yaml:4",
        "  count: 1          # default",
        "  zone: null        # default",
        "nothing: {}         # default",
        "none: []            # default",
    ]


def test_a_long_line_does_not_push_the_comments_of_others_away() -> None:
    text = with_origins({"long": "x" * 200, "short": 1}, YamlSource("dev.yaml"))
    assert text.splitlines()[1].index("#") <= LINE_LIMIT + 2


def test_the_name_of_a_file_cannot_leave_its_comment() -> None:
    source = read_yaml("a\nb: 5\x1b.yaml", "name: dev")
    assert yaml.safe_load(with_origins({"name": "dev"}, source)) == {"name": "dev"}


TEXT = st.text(max_size=8) | st.sampled_from(
    ["a\nb", "\n", " a", "a ", "- x", "# y", "a\u2028b", "\x85"]
)
DATA = st.dictionaries(
    TEXT,
    st.recursive(
        st.none() | st.booleans() | st.integers() | TEXT,
        lambda inner: st.dictionaries(TEXT, inner, max_size=3) | st.lists(inner, max_size=3),
        max_leaves=8,
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=300)
@given(DATA)
def test_comments_change_nothing(data: dict[str, Any]) -> None:
    assert yaml.safe_load(with_origins(data, YamlSource("dev.yaml"))) == data


def test_the_example_of_the_documentation_is_what_expand_shows(tmp_path: Path) -> None:
    blocks = re.findall(r"```(?:yaml)?\n(.*?)```", (ROOT / "docs/extends.md").read_text(), re.S)
    *files, shown = blocks
    for text in files:
        (tmp_path / text.split("\n")[0].removeprefix("# environments/")).write_text(text)
    loaded = read(tmp_path / "test.yaml")
    assert loaded.environment
    text = with_origins(loaded.environment.model_dump(mode="json"), loaded.source)
    lines = [line.split() for line in text.splitlines()]
    assert all(line.split() in lines for line in shown.splitlines())
