from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from slurmpod.environment.cluster import Group
from slurmpod.environment.descriptions import (
    KEY,
    all_sections,
    description_of,
    descriptions,
    example_of,
    expectation,
    field_at,
    limit,
    section_at,
)
from slurmpod.environment.environment import Environment
from slurmpod.problems import YamlPath

if TYPE_CHECKING:
    from pydantic import BaseModel

SECTIONS = tuple(all_sections())


def test_all_sections_are_found() -> None:
    names = [section.__name__ for section in SECTIONS]
    assert names[:3] == ["Environment", "Network", "Storage"]
    assert {"Group", "Rollout", "AdditionalLustre", "ExistingSubnet"} <= set(names)
    assert len(names) == len(set(names))


@pytest.mark.parametrize("section", SECTIONS)
def test_every_field_is_described(section: type[BaseModel]) -> None:
    assert set(descriptions(section)) == set(section.model_fields)


@pytest.mark.parametrize("section", SECTIONS)
def test_every_field_with_a_pattern_has_an_example_that_matches(section: type[BaseModel]) -> None:
    for name, field in section.model_fields.items():
        pattern = limit(field, "pattern")
        if pattern:
            assert field.examples, f"{section.__name__}.{name} needs an example"
            assert all(re.search(pattern, example) for example in field.examples)


@pytest.mark.parametrize(
    ("path", "description"),
    [
        (("region",), "AWS Region."),
        (("cluster", "groups", 7, "count"), "Number of nodes."),
        (("cluster", "groups"), "The instance groups."),
        (("cluster", "groups", 0), ""),
        (("tags", "team"), ""),
        (("nothing", "here"), ""),
        ((), ""),
    ],
)
def test_a_place_has_the_description_of_its_field(path: YamlPath, description: str) -> None:
    assert description_of(path) == description


def test_sections_are_found_inside_lists() -> None:
    assert section_at(()) is Environment
    assert section_at(("cluster", "groups", 3)) is Group
    assert section_at(("name",)) is None
    assert section_at(("cluster", "groups", 3, "name", "deeper")) is None


@pytest.mark.parametrize(
    ("path", "accepted", "example"),
    [
        (("name",), "text of at most 63 characters such as dev", "dev"),
        (("account",), 'text such as "123456789012"', '"123456789012"'),
        (("protected",), "true or false", "..."),
        (("tags",), "a mapping (key: value) of at most 40 entries", "..."),
        (("tags", "team"), "text of at most 256 characters", "..."),
        (("tags", KEY), "text of 1 to 128 characters", "..."),
        (
            ("slurm", "multi_head"),
            "a mapping with the keys shared_directory, database_user, sns_topic_arn",
            "",
        ),
        (("network", "vpc_cidr"), "an IPv4 range such as 10.0.0.0/16", "10.0.0.0/16"),
        (
            ("network", "private_subnet_cidr"),
            "an IPv4 range such as 10.0.128.0/17",
            "10.0.128.0/17",
        ),
        (("storage", "lustre", "capacity_gib"), "a whole number of at least 1200", "1200"),
        (
            ("storage", "lustre", "compression"),
            "one of LZ4, NONE, or what AWS has added since",
            "LZ4",
        ),
        (("cluster", "groups"), "a list of 1 to 100 entries", "..."),
        (("cluster", "groups", 0, "role"), "one of controller, login, worker", "controller"),
        (("cluster", "groups", 0, "count"), "a whole number from 0 to 6758", "0"),
        (("cluster", "groups", 0, "threads_per_core"), "one of 1, 2", "1"),
    ],
)
def test_what_a_field_accepts_is_said_in_words(path: YamlPath, accepted: str, example: str) -> None:
    field = field_at(path)
    assert field is not None
    assert expectation(field) == accepted
    assert example_of(field) == example
