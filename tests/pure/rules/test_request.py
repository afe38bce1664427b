"""The rule that holds the request against the API's model, and where it says what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from slurmpod.environment.descriptions import field_at
from slurmpod.reading.read import Reading, read_as
from slurmpod.request import cluster_request
from slurmpod.resolve import resolve
from slurmpod.rules import request as request_rule
from slurmpod.rules.check import check
from slurmpod.rules.request import create_cluster_shapes, neutral_references, place_of
from tests.cluster_environments import EXTENDED, MANAGED, MULTI_HEAD
from tests.sound_environment import SOUND

NOT_FROM_ONE_FIELD = {"ExecutionRole", "RootVolume", "VolumeKmsKeyId"}
"""Members of which only the group is known."""


def request_of(text: str) -> dict[str, Any]:
    environment = read_as("environment.yaml", text).environment
    assert environment is not None
    resolved = resolve(Reading(environment))
    return cluster_request(resolved, neutral_references(resolved))


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path


@pytest.mark.parametrize("text", [SOUND, EXTENDED, MANAGED, MULTI_HEAD])
def test_every_member_comes_from_a_field_of_the_environment(text: str) -> None:
    for path in leaves(request_of(text)):
        place = place_of(path)
        assert field_at(place) is not None, path
        if path[-1] not in NOT_FROM_ONE_FIELD:
            assert len(place) != 3 or place[:2] != ("cluster", "groups"), path


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("ClusterName",), ("name",)),
        (("Tags", 3, "Value"), ("tags",)),
        (("InstanceGroups",), ("cluster", "groups")),
        (("InstanceGroups", 2, "ExecutionRole"), ("cluster", "groups", 2)),
        (("InstanceGroups", 2, "ImageId"), ("cluster", "groups", 2, "image_id")),
        (
            ("InstanceGroups", 1, "InstanceRequirements", "InstanceTypes", 4),
            ("cluster", "groups", 1, "instance_types", 4),
        ),
        (
            ("InstanceGroups", 0, "InstanceStorageConfigs", 1, "FsxLustreConfig", "MountPath"),
            ("storage", "lustre", "mount_path"),
        ),
        (("SomethingNew",), ()),
    ],
)
def test_members_are_traced_to_their_lines(
    path: tuple[str | int, ...], place: tuple[str | int, ...]
) -> None:
    assert place_of(path) == place


def test_what_the_api_would_refuse_is_found_at_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = deepcopy(dict(create_cluster_shapes()))
    shapes["ClusterInstanceCount"]["max"] = 1
    monkeypatch.setattr(request_rule, "create_cluster_shapes", lambda: shapes)
    (problem,) = check(read_as("dev.yaml", SOUND))
    assert (problem.rule, problem.where.line) == ("REQ-001", 20)
    assert problem.message == (
        "CreateCluster takes no 2 for InstanceCount: it must have value less than or equal to 1"
    )


def test_types_are_left_to_the_rules_that_know_more(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = deepcopy(dict(create_cluster_shapes()))
    shapes["ClusterInstanceType"]["enum"] = ["ml.m5.large"]
    monkeypatch.setattr(request_rule, "create_cluster_shapes", lambda: shapes)
    assert check(read_as("dev.yaml", SOUND)) == ()
