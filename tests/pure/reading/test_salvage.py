"""What remains of a file with mistakes of form: the sections that have none."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from slurmpod.environment.environment import Environment
from slurmpod.reading.read import STAND_INS, PartialReading, Reading, read_as
from tests.pure.reading.test_phrases import FULL, paths
from tests.sound_environment import SOUND, sound_with


def with_wrong_value(path: tuple[str | int, ...]) -> Reading:
    document = deepcopy(FULL)
    parent: Any = document
    for part in path[:-1]:
        parent = parent[part]
    parent[path[-1]] = 2.5
    return read_as("full.yaml", json.dumps(document))


def remains_of(text: str) -> PartialReading:
    remains = read_as("dev.yaml", text).remains
    assert remains
    return remains


def test_wherever_a_wrong_value_is_the_other_sections_remain() -> None:
    whole = read_as("full.yaml", json.dumps(FULL)).environment
    for path in [path for path in paths(FULL) if path]:
        reading = with_wrong_value(path)
        if reading.environment is None:
            assert reading.remains, path
            assert reading.remains.broken == {path[0]}
            for name in Environment.model_fields.keys() - {path[0]}:
                assert getattr(reading.remains.reading.environment, name) == getattr(whole, name)


def test_something_stands_in_for_what_every_environment_has() -> None:
    required = {name for name, field in Environment.model_fields.items() if field.is_required()}
    assert required == STAND_INS.keys()


def test_a_misspelt_section_may_be_any_that_is_not_there() -> None:
    broken = remains_of(f"{SOUND}lifecyle: {{mode: extended}}\n").broken
    assert broken == {"lifecyle"} | (Environment.model_fields.keys() - _written())


def _written() -> set[str]:
    return {"name", "account", "region", "tags", "network", "storage", "cluster"}


def test_a_key_that_stands_twice_breaks_its_section() -> None:
    text = sound_with("zone: us-west-2b", "zone: eu-west-1a\n  zone: us-west-2b")
    assert remains_of(text).broken == {"network"}


@pytest.mark.parametrize("text", ["5", "[]", "name"])
def test_of_what_is_no_mapping_nothing_remains(text: str) -> None:
    assert read_as("dev.yaml", text).remains is None


def test_a_sound_file_is_whole() -> None:
    assert read_as("dev.yaml", SOUND).remains is None
