"""Values against API models; and that our extract of CreateCluster's is that of the SDK."""

from __future__ import annotations

from typing import Any

import botocore.session
import pytest

from embedded_aws.service_model import violations
from slurmpod.rules.request import (
    CREATE_CLUSTER,
    CREATE_CLUSTER_INPUT,
    create_cluster_shapes,
)
from tests.golden_files import assert_matches
from tools.service_shapes import shapes_of, written

SHAPES: dict[str, Any] = {
    "Order": {
        "type": "structure",
        "required": ["Name"],
        "members": {
            "Name": {"shape": "Name"},
            "Count": {"shape": "Count"},
            "Ratio": {"shape": "Ratio"},
            "Urgent": {"shape": "Urgent"},
            "Kinds": {"shape": "Kinds"},
            "Labels": {"shape": "Labels"},
            "Due": {"shape": "Due"},
        },
    },
    "Name": {"type": "string", "min": 2, "max": 4, "pattern": "[a-z]+"},
    "Count": {"type": "integer", "min": 1, "max": 9},
    "Ratio": {"type": "double", "max": 1},
    "Urgent": {"type": "boolean"},
    "Kinds": {"type": "list", "max": 2, "member": {"shape": "Kind"}},
    "Kind": {"type": "string", "enum": ["red", "blue"]},
    "Labels": {"type": "map", "max": 1, "key": {"shape": "Java"}, "value": {"shape": "Count"}},
    "Java": {"type": "string", "pattern": "\\p{L}+"},
    "Due": {"type": "timestamp"},
}

SOUND = {
    "Name": "abc",
    "Count": 1,
    "Ratio": 1.0,
    "Urgent": True,
    "Kinds": ["red", "blue"],
    "Labels": {"x": 9},
    "Due": "2027-01-31",
}


def found(value: Any) -> list[tuple[tuple[str | int, ...], str]]:
    return [(each.path, each.constraint) for each in violations(SHAPES, "Order", value)]


def test_a_sound_value_violates_nothing() -> None:
    assert found(SOUND) == []


@pytest.mark.parametrize(
    ("changed", "path", "constraint"),
    [
        ({"Name": "a"}, ("Name",), "length greater than or equal to 2"),
        ({"Name": "abcde"}, ("Name",), "length less than or equal to 4"),
        ({"Name": "ABC"}, ("Name",), "regular expression pattern: [a-z]+"),
        ({"Name": "abc\n"}, ("Name",), "regular expression"),
        ({"Name": 5}, ("Name",), "of type string"),
        ({"Name": None}, ("Name",), "of type string"),
        ({"Count": 0}, ("Count",), "value greater than or equal to 1"),
        ({"Count": 10}, ("Count",), "value less than or equal to 9"),
        ({"Count": True}, ("Count",), "of type integer"),
        ({"Count": 1.5}, ("Count",), "of type integer"),
        ({"Ratio": 1.5}, ("Ratio",), "value less than or equal to 1"),
        ({"Urgent": 1}, ("Urgent",), "of type boolean"),
        ({"Kinds": "red"}, ("Kinds",), "of type list"),
        ({"Kinds": ["red", "green"]}, ("Kinds", 1), "enum value set: [red, blue]"),
        ({"Kinds": ["red"] * 3}, ("Kinds",), "length less than or equal to 2"),
        ({"Labels": {"x": 0}}, ("Labels", "x"), "value greater than or equal to 1"),
        ({"Labels": {"x": 1, "y": 1}}, ("Labels",), "length less than or equal to 1"),
        ({"Colour": "red"}, ("Colour",), "is not known"),
    ],
)
def test_what_the_model_does_not_allow_is_named_with_its_place(
    changed: dict[str, Any], path: tuple[str | int, ...], constraint: str
) -> None:
    ((found_path, text),) = found({**SOUND, **changed})
    assert found_path == path
    assert constraint in text


def test_all_violations_are_found_at_once() -> None:
    assert [path for path, _ in found({"Count": 0, "Kinds": ["x", "y"]})] == [
        ("Name",),
        ("Count",),
        ("Kinds", 0),
        ("Kinds", 1),
    ]


def test_a_pattern_that_python_cannot_read_is_not_checked() -> None:
    assert list(violations(SHAPES, "Java", "?")) == []


def test_the_model_of_create_cluster_is_that_of_the_pinned_sdk(update_golden: bool) -> None:
    assert_matches(CREATE_CLUSTER, extract(), update=update_golden)


def test_the_instance_types_are_among_the_shapes() -> None:
    assert "ml.p5.48xlarge" in create_cluster_shapes()["ClusterInstanceType"]["enum"]


def extract() -> str:
    """Return what the pinned SDK says of a CreateCluster request."""
    loader = botocore.session.get_session().get_component("data_loader")
    shapes = loader.load_service_model("sagemaker", "service-2")["shapes"]
    return written(shapes_of(shapes, CREATE_CLUSTER_INPUT))
