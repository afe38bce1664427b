"""The environments of this repository, from which users copy: sound, and a use of every field."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from slurmpod.environment.descriptions import all_sections
from slurmpod.reading.extends import EXTENDS, environment_files
from slurmpod.reading.read import read
from slurmpod.rules.check import check, check_together
from tests.environment_files import FILES

ENVIRONMENTS = Path(__file__).parents[3] / "environments"
EXAMPLES = ENVIRONMENTS / "examples"

Use = tuple[type[BaseModel], str]


def uses_in(value: object) -> Iterator[Use]:
    """Yield every field that was written, with the section that declares it."""
    if isinstance(value, BaseModel):
        for name in value.model_fields_set:
            yield declared(type(value), name), name
            yield from uses_in(getattr(value, name))
    if isinstance(value, tuple):
        for item in value:
            yield from uses_in(item)


def declared(section: type[BaseModel], name: str) -> type[BaseModel]:
    """Return the section with the field's own line: an additional file system inherits most."""
    return next(each for each in section.__mro__ if name in each.__annotations__)


@pytest.mark.parametrize("file", FILES.values(), ids=list(FILES))
def test_it_has_neither_errors_nor_warnings(file: Path) -> None:
    assert check(read(file)) == ()


def test_no_two_describe_the_same_cluster() -> None:
    assert check_together(map(read, FILES.values())) == ()


def test_the_examples_together_use_every_field() -> None:
    loaded = [read(file) for file in environment_files(EXAMPLES)]
    used = {use for each in loaded for use in uses_in(each.environment)}
    fields = {(declared(each, name), name) for each in all_sections() for name in each.model_fields}
    assert {f"{section.__name__}.{name}" for section, name in fields - used} == set()


def test_the_examples_use_extends() -> None:
    extending = [
        file for file in environment_files(EXAMPLES) if f"\n{EXTENDS}: " in file.read_text()
    ]
    assert len(extending) > 1


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.yaml")), ids=lambda file: file.stem)
def test_an_example_names_its_schema_and_says_what_it_shows(file: Path) -> None:
    schema, about, *_ = file.read_text().splitlines()
    assert schema == "# yaml-language-server: $schema=../schema.json"
    assert about.startswith("# ")
    assert about.endswith(".")
    loaded = read(file)
    assert loaded.environment is None or loaded.environment.name == file.stem
