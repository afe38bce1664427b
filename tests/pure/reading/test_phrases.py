"""Every kind of finding that pydantic can have with our models has a phrase of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, get_origin

import pytest
from pydantic import ValidationError

from slurmpod.environment.descriptions import KEY, choices_of, field_at, limit, section_in, type_of
from slurmpod.environment.environment import Environment
from slurmpod.jobs.recipes.ddp import DdpParameters
from slurmpod.problems import YamlPath
from slurmpod.reading.phrases import WRONG, phrase
from slurmpod.reading.read import read_as
from slurmpod.reading.yaml_source import YamlSource

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


def full(path: YamlPath = ()) -> Any:
    """Return something well-formed for what stands at a path, with every key that can be there."""
    field = field_at(path)
    assert field is not None
    section, kind = section_in(field), get_origin(type_of(field))
    if section:
        return {name: full((*path, name)) for name in section.model_fields}
    if kind is tuple:
        return [full((*path, 0))]
    if kind is dict:
        key = full((*path, KEY))
        return {key: full((*path, key))}
    examples = choices_of(field) or field.examples
    if examples:
        return examples[0]
    return {bool: True, int: limit(field, "ge") or 0}.get(type_of(field), "some text")


FULL = full()

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, 0, -5, 10**17, 10**30, 2.5, 1e300, "", "x", "5", "Ä", "x" * 300, "a\nb"),
    *([], [None], ["x"], [{}] * 101, {}, {"": ""}, {"x" * 200: "y"}, {"x": 1}, {"x": "y" * 300}),
    *("10.0.0.1/16", "10.0.0.0/8", "10.0.0.0/30", "10.0.0.0/99", "::/0"),
    {str(number): "" for number in range(60)},
)


def paths(value: Any, path: YamlPath = ()) -> Iterator[YamlPath]:
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from paths(value[key], (*path, key))
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from paths(item, (*path, index))


def odd_documents() -> Iterator[Any]:
    yield from ODD_VALUES
    for path in paths(FULL):
        for odd in ODD_VALUES if path else ():
            yield replaced(FULL, path, odd)


def replaced(value: Any, path: YamlPath, odd: Any) -> Any:
    """Return a value in which `odd` stands at a path; what lies elsewhere is not copied."""
    if not path:
        return odd
    changed = value.copy()
    changed[path[0]] = replaced(value[path[0]], path[1:], odd)
    return changed


def test_the_full_document_has_every_key_and_no_problem() -> None:
    reading = read_as("full.yaml", json.dumps(FULL))
    assert reading.environment is not None, reading.problems


@cache
def mistakes() -> tuple[ErrorDetails, ...]:
    """Return what pydantic finds in the odd documents, one finding of each kind at each place."""
    found: dict[object, ErrorDetails] = {}
    for document in odd_documents():
        try:
            Environment.model_validate_json(json.dumps(document))
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                found.setdefault((detail["type"], detail["loc"]), detail)
    return tuple(found.values())


def test_every_kind_of_finding_has_a_phrase_and_no_phrase_is_idle() -> None:
    kinds = {detail["type"] for detail in mistakes()} | {fraction_of_a_recipe()["type"]}
    assert kinds - {"missing", "extra_forbidden"} == set(WRONG)


def fraction_of_a_recipe() -> ErrorDetails:
    """Return what pydantic finds in a fraction, of which environments have none."""
    with pytest.raises(ValidationError) as caught:
        DdpParameters.model_validate_json('{"tolerance": "low"}')
    return caught.value.errors(include_url=False)[0]


def test_no_word_of_pydantic_reaches_the_user() -> None:
    source = YamlSource("odd.yaml")
    for problem in (phrase(detail, source) for detail in mistakes()):
        said = f"{problem.message} {problem.fix}"
        for word in ("Input", "should be", "Value error", "Field required", "pydantic", "^["):
            assert word not in said
        assert problem.fix
        assert "\n" not in said
