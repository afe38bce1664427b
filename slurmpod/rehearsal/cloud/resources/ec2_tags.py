"""Tags of EC2 resources, which all share one API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.tags import tag_changes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.resources.provider import ResourceRequest


def tag_specifications(kind: str, request: ResourceRequest) -> list[Any]:
    """Return the TagSpecifications with which a resource of EC2's `kind` is created."""
    tags = request.properties.get("Tags")
    return [{"ResourceType": kind, "Tags": tags}] if tags else []


def retag(request: ResourceRequest, resource_id: str, previous: Mapping[str, Any]) -> None:
    """Make the tags of an EC2 resource those of the request."""
    gone, tags = tag_changes(previous, request.properties)
    if gone:
        request.aws.ec2.delete_tags(Resources=[resource_id], Tags=[{"Key": key} for key in gone])
    if tags:
        request.aws.ec2.create_tags(Resources=[resource_id], Tags=tags)
