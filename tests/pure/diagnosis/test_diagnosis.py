"""`why` names the cause of every broken state, or says that it does not know it."""

from __future__ import annotations

import re
import shlex

import pytest

from slurmpod.cli.main import parser_of
from tests.golden_files import ROOT, assert_matches
from tests.pure.diagnosis.diagnosis import State, Verdict, states
from tools.diagnosis_page import diagnosis_page

ALL = tuple(states())


@pytest.mark.parametrize("state", ALL, ids=lambda state: f"{state.name}-{state.moment}")
def test_the_cause_is_named(state: State) -> None:
    story = state.story()
    assert state.verdict(story) is Verdict.RIGHT, (story.cause, story.began, story.also)


COMMAND = re.compile(r"slurmpod (?:[a-z]+ )+(?:dev\.yaml|ENV)[^;,`]*")


@pytest.mark.parametrize(
    "fix", sorted({found for state in ALL for found in COMMAND.findall(state.story().cause.fix)})
)
def test_commands_that_it_names_are_commands(fix: str) -> None:
    name, *words = shlex.split(fix.partition(" or ")[0].partition(")")[0])[1:]
    parser_of(name).parse_args(["3" if word == "COUNT" else word for word in words])


def test_the_page_of_states_is_made_of_them(update_golden: bool) -> None:
    page = diagnosis_page()
    assert all(f"| {state.name.replace('-', ' ')} |" in page for state in ALL)
    assert_matches(ROOT / "docs" / "diagnosis.md", page, update=update_golden)
