"""Only the sections that a file has are checked; the result is that of checking all of them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError
from pydantic_core import ErrorDetails, to_json

from slurmpod.environment.base import written
from slurmpod.environment.environment import Environment
from slurmpod.reading.extends import with_bases
from slurmpod.reading.read import read, validated
from slurmpod.reading.yaml_source import read_yaml
from tests.golden_files import ROOT

FILES = sorted((ROOT / "environments").rglob("[!_]*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_environment_has_all_its_sections(file: Any) -> None:
    data = with_bases(read_yaml(str(file), file.read_text())).data
    assert validated(data) == Environment.model_validate_json(to_json(data))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_was_written_is_what_pydantic_says_of_it(file: Any) -> None:
    environment = read(file).environment
    assert environment
    dumped = environment.model_dump(mode="json", exclude_unset=True)
    assert to_json(written(environment)) == to_json(dumped)


@pytest.mark.parametrize(
    "data",
    [
        3,
        "name",
        ["name"],
        {},
        {"naem": "dev", "suppress": 1},
        {"name": "Dev", "network": 3, "slurm": {"accounting": "x"}, "more": 2},
        {"name": "dev", "cluster": {"groups": [{"name": 3}]}, "access": None, "budget": {}},
    ],
)
def test_mistakes_are_those_of_all_sections(data: Any) -> None:
    expected = _mistakes(lambda: Environment.model_validate_json(to_json(data)))
    assert expected
    assert _mistakes(lambda: validated(data)) == expected


def _mistakes(check: Any) -> list[ErrorDetails]:
    with pytest.raises(ValidationError) as caught:
        check()
    return caught.value.errors(include_url=False)
