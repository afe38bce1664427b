from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from slurmpod.model.descriptions import all_sections
from slurmpod.model.schema import environment_schema
from tests.sound_environment import sound_data

SCHEMA = environment_schema()


def is_valid(document: Any) -> bool:
    return bool(jsonschema.Draft202012Validator(SCHEMA).is_valid(document))


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_it_accepts_what_the_loader_accepts() -> None:
    assert is_valid(sound_data())


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Upper"},
        {"account": 123456789012},
        {"unknown": 1},
        {"network": {}},
        {"cluster": {"groups": []}},
    ],
)
def test_it_refuses_what_the_loader_refuses(change: dict[str, Any]) -> None:
    assert not is_valid({**sound_data(), **change})


def test_every_section_and_field_is_explained_to_the_editor() -> None:
    for section in all_sections():
        definition = (
            SCHEMA if section.__name__ == "Environment" else SCHEMA["$defs"][section.__name__]
        )
        assert definition["description"]
        assert all("description" in field for field in definition["properties"].values())
        assert not any("title" in field for field in definition["properties"].values())
