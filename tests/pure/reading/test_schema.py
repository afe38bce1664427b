from __future__ import annotations

from functools import cache
from typing import Any

import jsonschema
import pytest

from slurmpod.environment.descriptions import all_sections
from slurmpod.reading.schema import environment_schema
from tests.sound_environment import sound_data


@cache
def schema() -> dict[str, Any]:
    return environment_schema()


def is_valid(document: Any) -> bool:
    return bool(jsonschema.Draft202012Validator(schema()).is_valid(document))


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


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


PART = {
    "extends": "_base.yaml",
    "tags": {"team": None},
    "storage": None,
    "cluster": {"groups": [{"name": "login", "remove": True}, {"name": "workers", "count": 3}]},
    "suppress": [{"rule": "NET-001", "remove": True}],
}


def test_it_accepts_an_environment_that_extends_a_file() -> None:
    assert is_valid(PART)
    assert is_valid({**PART, "name": "dev"})
    assert is_valid({**sound_data(), "extends": "_base.yaml"})


def test_it_accepts_a_file_without_a_name_as_one_that_is_extended() -> None:
    assert is_valid({"cluster": {"groups": [{"name": "workers"}]}})
    assert is_valid({"network": {}})


@pytest.mark.parametrize(
    "change",
    [
        {"extends": ""},
        {"extends": None},
        {"extends": ["_base.yaml"]},
        {"remove": True},
        {"region": "US West"},
        {"tags": {"team": 5}},
        {"unknown": 1},
        {"network": {"remove": True}},
        {"cluster": {"groups": [{"name": "login", "remove": "yes"}]}},
        {"cluster": {"groups": [{"name": "login", "cuont": 3}]}},
    ],
)
def test_it_refuses_mistakes_in_what_extends_a_file(change: dict[str, Any]) -> None:
    assert not is_valid({**PART, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"tags": None},
        {"cluster": {"groups": [{"name": "login", "remove": True}]}},
    ],
)
def test_what_changes_a_base_is_refused_where_there_is_none(change: dict[str, Any]) -> None:
    assert not is_valid({**sound_data(), **change})


def test_every_section_and_field_is_explained_to_the_editor() -> None:
    for section in all_sections():
        definition = schema()["$defs"][section.__name__]
        assert definition["description"]
        assert all("description" in field for field in definition["properties"].values())
        assert not any("title" in field for field in definition["properties"].values())
