"""Whatever a file holds, loading and checking it raises nothing: there are only problems."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from slurmpod.problems import Problem
from slurmpod.reading.read import read_as
from slurmpod.rules.areas import all_rules
from slurmpod.rules.check import check
from tests.pure.property.environments import EXAMPLES, FILE, ODD_TEXTS, POOL
from tests.pure.reading.test_phrases import FULL, ODD_VALUES, paths
from tests.search_depth import cases
from tests.sound_environment import SOUND, sound_data

EXAMPLE_TEXTS = [file.read_text() for file in sorted(EXAMPLES.glob("*.yaml"))]
KNOWN = {rule.id for rule in all_rules()} - {"RUL-001"}

ODD = (
    st.sampled_from(ODD_VALUES)
    | st.integers()
    | st.text(max_size=40)
    | st.sampled_from(
        ["ml.p5.48xlarge", "ml.m7g.medium", "sa-east-1", "10.0.0.0/16", "None", "dev"]
    )
    | ODD_TEXTS
    | st.recursive(st.none() | st.booleans() | st.text(max_size=5), st.lists, max_leaves=5)
)


@st.composite
def mutated_data(draw: st.DrawFn) -> Any:
    """Draw a sound environment with a few things deleted, renamed, repeated or replaced."""
    document = deepcopy(draw(st.sampled_from([FULL, sound_data(), *POOL])))
    for _ in range(draw(st.integers(1, 4))):
        places = [path for path in paths(document) if path]
        if not places:
            break
        *way, last = draw(st.sampled_from(places))
        parent: Any = document
        for part in way:
            parent = parent[part]
        mutate(draw, parent, last)
    return document


def mutate(draw: st.DrawFn, parent: Any, last: Any) -> None:
    action = draw(st.sampled_from(["delete", "rename", "repeat", "replace", "replace"]))
    if action == "replace":
        parent[last] = deepcopy(draw(ODD))
        return
    value = parent.pop(last)
    if isinstance(parent, list):
        parent += [value] * {"delete": 0, "rename": 1, "repeat": 2}[action]
    elif action == "rename":
        parent[draw(st.text(max_size=20))] = value
    elif action == "repeat":
        parent[last] = [value, value]


@st.composite
def mutated_text(draw: st.DrawFn) -> str:
    """Draw the text of a sound environment with pieces cut out and put in."""
    text = draw(st.sampled_from([SOUND, *EXAMPLE_TEXTS]))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 15)))
        pieces = st.text(max_size=5) | st.sampled_from(
            ["\t", "- ", ": ", "&a ", "*a", "!x ", "? ", "{", "]", "|\n", "\n---\n", "\r", "#", "%"]
        )
        text = text[:start] + draw(pieces) + text[end:]
    return text


def assert_only_problems(text: str) -> None:
    problems = check(read_as(FILE, text))
    lines = len(text.splitlines()) + 1
    for problem in problems:
        assert isinstance(problem, Problem)
        assert problem.rule in KNOWN, problem
        assert problem.message
        assert problem.fix
        assert problem.where.line >= 1
        assert problem.where.line <= lines or problem.where.file != FILE
        assert problem.where.column >= 1
    assert check(read_as(FILE, text)) == problems


@settings(max_examples=cases(usual=60, deep=1000))
@given(mutated_data())
def test_mutated_environments_only_have_problems(document: Any) -> None:
    assert_only_problems(json.dumps(document, ensure_ascii=False))


@settings(max_examples=cases(usual=60, deep=1000))
@given(mutated_text())
def test_mutated_texts_only_have_problems(text: str) -> None:
    assert_only_problems(text)


@settings(max_examples=cases(usual=100, deep=1000))
@given(st.text(max_size=60))
def test_any_text_only_has_problems(text: str) -> None:
    assert_only_problems(text)
