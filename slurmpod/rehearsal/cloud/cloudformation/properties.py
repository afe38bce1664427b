"""The properties with which a resource is really created."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.registry import provider_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.cloudformation.intrinsics import Resolver
    from slurmpod.rehearsal.cloud.cloudformation.template import ResourceDefinition


def resolve_properties(
    definition: ResourceDefinition, resolver: Resolver, stack_tags: Mapping[str, str]
) -> dict[str, Any]:
    """Resolve a definition's properties, and give a taggable resource the tags of its stack.

    A resource's own tag wins over the stack's of the same key.
    """
    properties: dict[str, Any] = resolver.resolve(definition.properties)
    provider = provider_for(definition.logical_id, definition.type)
    if stack_tags and "Tags" in provider.supported:
        given = properties.get("Tags", [])
        own = given if provider.maps_tags else {tag["Key"]: tag["Value"] for tag in given}
        merged = dict(sorted({**stack_tags, **dict(own)}.items()))
        pairs = [{"Key": key, "Value": value} for key, value in merged.items()]
        properties["Tags"] = merged if provider.maps_tags else pairs
    return properties
