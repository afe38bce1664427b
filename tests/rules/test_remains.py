"""Whatever rules look at says which sections of the file it rests on."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest

from slurmpod.environment.environment import Environment
from slurmpod.reading.read import read_as
from slurmpod.resolve import Resolved
from slurmpod.rules.check import check
from slurmpod.rules.remains import SECTIONS
from tests.unit.reading.test_phrases import FULL

SECTION_NAMES = Environment.model_fields.keys()


def test_every_part_of_a_resolved_environment_rests_on_known_sections() -> None:
    parts = {part.name for part in fields(Resolved)} - {"environment"}
    assert parts <= SECTIONS.keys() | SECTION_NAMES
    assert SECTIONS.keys() <= parts
    assert all(sections <= SECTION_NAMES for sections in SECTIONS.values())


@pytest.mark.parametrize("name", FULL)
def test_a_broken_section_adds_no_finding(name: str) -> None:
    whole = {problem.rule for problem in check(read_as("full.yaml", json.dumps(FULL)))}
    broken = check(read_as("full.yaml", json.dumps({**FULL, name: 2.5})))
    assert {problem.rule for problem in broken} - whole <= {"ENV-004"}
