"""Cost allocation: whatever can carry tags carries those of the environment, and shows on its bill.

Which types can, CloudFormation's own schemas say, as cfn-lint has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-untyped]

from tests.templates.synthesis import Synthesized
from tests.templates.watched import watched
from tools.own_schemas import load_own_schemas

SAID_OTHERWISE: dict[str, str] = {}
"""Types that can carry tags and get none, with the reason; none so far."""


@cache
def tag_property(resource_type: str) -> str | None:
    """Return the property with the tags of a type; None if the type has no tags."""
    if not resource_type.startswith("AWS::") or resource_type.startswith("AWS::CDK::"):
        return None
    load_own_schemas()
    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", resource_type).schema
    tagging = schema.get("tagging", {})
    if not tagging.get("taggable", schema.get("taggable", "Tags" in schema["properties"])):
        return None
    pointer: str = tagging.get("tagProperty", "/properties/Tags")
    return pointer.removeprefix("/properties/")


def untagged(environment: Synthesized) -> Iterator[str]:
    """Yield what can carry the tags of its environment and does not."""
    expected = dict(environment.resolved.tags)
    for stack, template in environment.templates.items():
        for logical_id, resource in template["Resources"].items():
            name = tag_property(resource["Type"])
            if name is None or resource["Type"] in SAID_OTHERWISE:
                continue
            tags = _tags(resource.get("Properties", {}).get(name, []))
            if not expected.items() <= tags.items():
                yield f"{stack}: {resource['Type']} {logical_id}"


def _tags(given: Any) -> dict[str, Any]:
    """Return tags by key, whether they are a mapping or a list of keys and values."""
    if isinstance(given, dict):
        return given
    return {tag["Key"]: tag["Value"] for tag in given}


def test_everything_that_can_carry_tags_carries_those_of_the_environment(
    environment: Synthesized,
) -> None:
    assert list(untagged(environment)) == []


def test_so_does_everything_that_is_watched() -> None:
    assert list(untagged(watched())) == []


def test_a_type_is_asked_for_its_own_property() -> None:
    assert tag_property("AWS::Budgets::Budget") == "ResourceTags"
    assert tag_property("AWS::SageMaker::Cluster") == "Tags"
    assert tag_property("AWS::SNS::Subscription") is None
    assert tag_property("Custom::ClusterLogs") is None


def test_exceptions_have_a_reason_and_are_needed() -> None:
    assert all(len(reason.split()) >= 5 for reason in SAID_OTHERWISE.values())
    assert all(tag_property(resource_type) for resource_type in SAID_OTHERWISE)
