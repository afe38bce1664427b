"""What a resource type gets from its declarations alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from embedded_aws.resources.api_resource import ApiResource, DescribeCall, Naming
from embedded_aws.resources.provider import ProviderError, ResourceRequest
from embedded_aws.resources.tags import Tagging

Calls = list[tuple[str, dict[str, Any]]]


class Box(ApiResource):
    """A box: a size that can change, a rule as JSON, and a lid that has a call of its own."""

    type = "Test::Box"
    in_place = frozenset({"Rule", "Size", "Tags"})
    supported = in_place | {"BoxName", "Lid"}
    apart = frozenset({"Lid"})
    renamed: ClassVar = {"BoxName": "Name"}
    as_json = frozenset({"Rule"})
    service = "boxes"
    creation, change, deletion = "create_box", "update_box", "delete_boxes"
    identity = "BoxId"
    deleted_by = "BoxIds"
    answer = ("Boxes", 0, "Id")
    naming = Naming("BoxName", 32, lower=True)
    described_by = DescribeCall("describe_boxes", "BoxIds", ("Boxes", 0))
    id_attributes = ("Id",)
    given_attributes = ("Size",)
    read_attributes: ClassVar = {"Arn": ("Arn",)}
    tagging = Tagging("ResourceArn", by_attribute="Arn")


class Boxes:
    """The service: it notes every call."""

    def __init__(self) -> None:
        self.calls: Calls = []

    def __getattr__(self, name: str) -> Any:
        def call(**arguments: Any) -> Any:
            self.calls.append((name, arguments))
            return {"Boxes": [{"Id": "box-1", "Arn": "arn:box-1"}]}

        return call


@pytest.fixture
def boxes() -> Boxes:
    return Boxes()


def _request(boxes: Boxes, **properties: Any) -> ResourceRequest:
    aws: Any = SimpleNamespace(service=lambda _name: boxes)
    return ResourceRequest("Logical", Box.type, properties, "Stack", aws)


def test_creation_gets_the_properties_as_the_service_has_them(boxes: Boxes) -> None:
    given = _request(
        boxes, BoxName="Mine", Lid=True, Rule={"a": 1}, Tags=[{"Key": "k", "Value": "v"}]
    )

    assert Box().create(given) == "box-1"
    arguments = {"Name": "Mine", "Rule": '{"a": 1}', "Tags": [{"Key": "k", "Value": "v"}]}
    assert boxes.calls == [("create_box", arguments)]


def test_what_is_a_text_already_stays_as_it_is(boxes: Boxes) -> None:
    Box().create(_request(boxes, BoxName="Mine", Rule='{"a": 1}'))

    assert boxes.calls == [("create_box", {"Name": "Mine", "Rule": '{"a": 1}'})]


def test_drift_is_read_where_the_description_has_the_names_of_properties(boxes: Boxes) -> None:
    actual = Box().actual(_request(boxes, Id="box-0", Size=3), "box-1")

    assert actual == {"Id": "box-1"}


def test_a_resource_without_a_name_gets_one(boxes: Boxes) -> None:
    Box().create(_request(boxes))

    name = boxes.calls[0][1]["Name"]
    assert name.startswith("stack-logical-")
    assert name == name.lower()
    assert len(name) <= 32


def test_an_update_changes_what_can_change_and_the_tags(boxes: Boxes) -> None:
    new = _request(boxes, BoxName="Mine", Lid=True, Size=2, Tags=[{"Key": "k", "Value": "w"}])
    before = {"Size": 1, "Tags": [{"Key": "k", "Value": "v"}, {"Key": "old", "Value": ""}]}

    Box().update(new, "box-1", before)

    assert [call for call in boxes.calls if call[0] != "describe_boxes"] == [
        ("update_box", {"BoxId": "box-1", "Size": 2}),
        ("untag_resource", {"ResourceArn": "arn:box-1", "TagKeys": ["old"]}),
        ("tag_resource", {"ResourceArn": "arn:box-1", "Tags": [{"Key": "k", "Value": "w"}]}),
    ]


def test_attributes_are_the_id_properties_and_what_is_read(boxes: Boxes) -> None:
    attributes = Box().attributes(_request(boxes, Size=3), "box-1")

    assert attributes == {"Id": "box-1", "Size": 3, "Arn": "arn:box-1"}
    assert boxes.calls == [("describe_boxes", {"BoxIds": ["box-1"]})]


def test_a_plural_name_takes_a_list(boxes: Boxes) -> None:
    Box().delete(_request(boxes), "box-1")

    assert boxes.calls == [("delete_boxes", {"BoxIds": ["box-1"]})]


def test_a_type_that_is_not_read_cannot_be_imported(boxes: Boxes) -> None:
    class Sealed(ApiResource):
        type = "Test::Sealed"

    with pytest.raises(ProviderError, match="Test::Sealed cannot be imported"):
        Sealed().exists(_request(boxes).aws, "box-1")
