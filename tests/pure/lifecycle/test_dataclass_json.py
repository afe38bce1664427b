from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import pytest

from slurmpod_lifecycle.dataclass_json import from_json


class Color(Enum):
    RED = "red"


@dataclass(frozen=True)
class Leaf:
    color: Color
    size: int | None = None


@dataclass(frozen=True)
class Tree:
    name: str
    leaves: tuple[Leaf, ...]
    best: Leaf | None
    options: Mapping[str, str | Sequence[str] | Mapping[str, int]] = field(default_factory=dict)


RED = {"color": "red", "size": None}
OPTIONS: Mapping[str, str | Sequence[str] | Mapping[str, int]] = {
    "a": "x",
    "b": ["y"],
    "c": {"z": 1},
}
TREE = {"name": "oak", "leaves": [RED], "best": RED, "options": OPTIONS}


def test_what_is_in_it_has_the_types_of_the_fields() -> None:
    leaf = Leaf(Color.RED)
    assert from_json(Tree, TREE) == Tree("oak", (leaf,), leaf, OPTIONS)
    assert from_json(Tree, {**TREE, "best": None}).best is None


@pytest.mark.parametrize(
    ("change", "mistake"),
    [
        ({"name": 1}, TypeError),
        ({"name": None}, TypeError),
        ({"leaves": {}}, TypeError),
        ({"leaves": ["red"]}, TypeError),
        ({"best": {"color": "red"}}, KeyError),
        ({"best": {**RED, "color": "blue"}}, ValueError),
        ({"best": {**RED, "size": True}}, TypeError),
        ({"best": {**RED, "weight": 1}}, TypeError),
        ({"options": {"a": 1}}, TypeError),
        ({"options": {"a": {"b": "c"}}}, TypeError),
    ],
)
def test_what_is_something_else_is_refused(
    change: dict[str, object], mistake: type[Exception]
) -> None:
    with pytest.raises(mistake):
        from_json(Tree, {**TREE, **change})
