"""Whatever rules look at says which sections of the file it rests on."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, get_args, get_type_hints

import pytest

from slurmpod.environment.environment import Environment
from slurmpod.reading.read import read_as
from slurmpod.resolve import Resolved
from slurmpod.rules.check import check
from slurmpod.rules.partial import FURTHER_SECTIONS, SECTIONS
from tests.sound_environment import sound_data
from tests.unit.reading.test_phrases import FULL

CHOSEN_BY_THE_FIRST = {"CAP-002", "PRO-003"}
"""What is wrong only with the defaults of the first edition: a minimum, and a strategy."""
SECTION_NAMES = Environment.model_fields.keys()


def test_every_part_of_a_resolved_environment_rests_on_known_sections() -> None:
    parts = {part.name for part in fields(Resolved)} - {"environment"}
    assert parts <= SECTIONS.keys() | SECTION_NAMES
    assert SECTIONS.keys() <= parts
    assert all(sections <= SECTION_NAMES for sections in SECTIONS.values())


@pytest.mark.parametrize("part", FURTHER_SECTIONS)
def test_members_of_parts_rest_on_known_sections(part: str) -> None:
    hint = get_type_hints(Resolved)[part]
    kind = next((each for each in get_args(hint) if isinstance(each, type)), hint)
    members = FURTHER_SECTIONS[part]
    assert members.keys() <= {member.name for member in fields(kind)}
    assert all(sections <= SECTION_NAMES for sections in members.values())


def found_in(data: dict[str, Any]) -> set[str]:
    return {problem.rule for problem in check(read_as("full.yaml", json.dumps(data)))}


@pytest.fixture(scope="module")
def whole() -> set[str]:
    return found_in(FULL)


def test_what_a_mistyped_edition_would_have_chosen_is_not_guessed() -> None:
    head, workers = sound_data()["cluster"]["groups"]
    cluster = {"groups": [head, {**workers, "min_count": 1}]}
    data = {**sound_data(), "cluster": cluster, "slurm": {"config_strategy": "Merge"}}
    assert found_in(data) >= CHOSEN_BY_THE_FIRST
    assert found_in({**data, "edition": 2025}).isdisjoint(CHOSEN_BY_THE_FIRST)


@pytest.mark.parametrize("name", FULL)
def test_a_broken_section_adds_no_finding(name: str, whole: set[str]) -> None:
    assert found_in({**FULL, name: 2.5}) - whole <= {"ENV-004"}
