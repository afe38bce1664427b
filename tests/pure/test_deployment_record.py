from __future__ import annotations

from typing import Any

import pytest

from slurmpod.deployment_record import (
    CHARACTERS_PER_PART,
    read_record,
    record,
    record_folder,
)
from slurmpod.environment.environment import Environment
from slurmpod.reading.read import Reading
from slurmpod.resolve import Resolved, resolve
from tests.sound_environment import sound_data


def environment(groups: int) -> Resolved:
    return resolve(Reading(Environment.model_validate(data_with(groups), strict=False)))


def data_with(groups: int) -> dict[str, Any]:
    data = sound_data()
    worker = data["cluster"]["groups"][1]
    data["cluster"]["groups"] += [{**worker, "name": f"w{number}"} for number in range(groups)]
    data["tags"] = {"team": "Zürich \U0001f680"}
    return data


@pytest.mark.parametrize("groups", [0, 90])
def test_what_was_written_is_read_again(groups: int) -> None:
    wanted = environment(groups)
    parameters = record(wanted)
    assert all(len(value.encode()) <= CHARACTERS_PER_PART for value in parameters.values())
    assert all(name.startswith(f"{record_folder('dev')}/") for name in parameters)
    in_any_order = dict(reversed(list(parameters.items())))
    written = data_with(groups)
    assert read_record(in_any_order) == {**written, "files": {}}


def test_a_part_that_is_missing_is_noticed() -> None:
    parameters = dict(record(environment(90)))
    parameters.pop(next(iter(parameters)))
    with pytest.raises(ValueError):  # noqa: PT011  # of the JSON, in its own words
        read_record(parameters)


def test_a_record_that_is_no_mapping_is_refused() -> None:
    with pytest.raises(ValueError, match="mapping"):
        read_record({"/slurmpod/dev/environment/00": "[]"})


def test_a_text_with_double_braces_is_neither_refused_nor_looked_up() -> None:
    reason = "{{{resolve:ssm:/secret}}} is what it says"
    data = {**sound_data(), "suppress": [{"rule": "NET-001", "reason": reason}]}
    parameters = record(resolve(Reading(Environment.model_validate(data, strict=False))))
    assert not any("{{" in value for value in parameters.values())
    assert read_record(parameters)["suppress"][0]["reason"] == reason


def test_a_record_says_what_the_edition_chose() -> None:
    wanted = Environment.model_validate({"edition": 2026, **sound_data()}, strict=False)
    recorded = read_record(record(resolve(Reading(wanted))))
    assert recorded["lifecycle"] == {"mode": "extended"}
    assert recorded["cluster"]["provisioning"] == "continuous"
