"""`why` names the cause of every broken state, or says that it does not know it."""

from __future__ import annotations

import pytest

from tests.diagnosis.diagnosis import State, Verdict, states

ALL = tuple(states())


@pytest.mark.parametrize("state", ALL, ids=lambda state: f"{state.name}-{state.moment}")
def test_the_cause_is_named(state: State) -> None:
    story = state.story()
    assert state.verdict(story) is Verdict.RIGHT, (story.cause, story.began, story.also)
