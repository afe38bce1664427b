"""A mistake of form is one problem: rules find nothing in an environment that comes from it."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from slurmpod.problems import YamlPath
from slurmpod.reading.read import read_as
from slurmpod.rules.check import check
from tests.pure.property.environments import FILE, POOL
from tests.pure.reading.test_phrases import paths
from tests.search_depth import cases

WRONG: tuple[Any, ...] = (None, 2.5, "", "a\nb", [[]])
"""Values that few fields take."""


@st.composite
def with_a_mistake(draw: st.DrawFn) -> tuple[Any, Any]:
    """Draw an environment, and the same with one value that is wrong or one key misspelt."""
    sound = draw(st.sampled_from(POOL))
    data = deepcopy(sound)
    *way, last = draw(st.sampled_from([path for path in paths(data) if _is_a_value(data, path)]))
    around = _at(data, way)
    if isinstance(last, str) and draw(st.booleans()):
        around[last + last[-1]] = around.pop(last)
    else:
        around[last] = draw(st.sampled_from(WRONG))
    return sound, data


def _is_a_value(data: Any, path: YamlPath) -> bool:
    """Tell what holds nothing else; what is accepted is judged again where that has a mistake."""
    return path[:1] != ("suppress",) and not isinstance(_at(data, path), dict | list)


def _at(data: Any, path: list[Any] | YamlPath) -> Any:
    for part in path:
        data = data[part]
    return data


def found(data: Any) -> set[tuple[str, str]]:
    """Return what rules find, and where."""
    loaded = read_as(FILE, json.dumps(data))
    problems = [problem for problem in check(loaded) if problem not in loaded.problems]
    return {(problem.rule, problem.where.path) for problem in problems}


@settings(max_examples=cases(usual=60, deep=1000))
@given(with_a_mistake())
def test_rules_find_nothing_because_of_a_mistake_of_form(pair: tuple[Any, Any]) -> None:
    sound, data = pair
    if read_as(FILE, json.dumps(data)).environment is None:
        assert found(data) <= found(sound)
