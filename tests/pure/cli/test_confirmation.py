"""Who may let an environment be changed."""

from __future__ import annotations

import argparse
import io
import sys

import pytest

from slurmpod.cli.confirmation import is_confirmed
from slurmpod.environment.environment import Environment
from slurmpod.reading.read import read_as
from tests.sound_environment import SOUND


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def environment(*, protected: bool) -> Environment:
    loaded = read_as("dev.yaml", SOUND + f"protected: {str(protected).lower()}\n")
    assert loaded.environment is not None, loaded.problems
    return loaded.environment


@pytest.mark.parametrize(
    ("protected", "yes", "typed", "confirmed"),
    [
        (False, True, "", True),
        (False, False, "y\n", True),
        (False, False, "\n", False),
        (True, True, "", False),
        (True, True, "y\n", False),
        (True, False, "dev\n", True),
    ],
)
def test_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, protected: bool, yes: bool, typed: str, confirmed: bool
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    options = argparse.Namespace(yes=yes)
    assert is_confirmed(environment(protected=protected), options, "go on") is confirmed


def test_nobody_answers_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert not is_confirmed(environment(protected=False), argparse.Namespace(yes=False), "go on")
