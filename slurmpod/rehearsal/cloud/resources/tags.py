"""Tags of resources whose services keep them by ARN or id, with TagResource and UntagResource."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.resources.provider import ResourceRequest


def tag_changes(
    previous: Mapping[str, Any], properties: Mapping[str, Any]
) -> tuple[list[str], list[Any]]:
    """Return the keys of tags that are gone, and the tags that there are now."""
    tags = list(properties.get("Tags", []))
    kept = {tag["Key"] for tag in tags}
    return [t["Key"] for t in previous.get("Tags", []) if t["Key"] not in kept], tags


def retag_by_arn(
    service: str,
    request: ResourceRequest,
    previous: Mapping[str, Any],
    **resource: str,
) -> None:
    """Make the tags of a resource those of the request.

    `resource` names it as the service's API does, such as ResourceARN="arn:...".
    """
    client = request.aws.service(service)
    gone, tags = tag_changes(previous, request.properties)
    if gone:
        client.untag_resource(**resource, TagKeys=gone)
    if tags:
        client.tag_resource(**resource, Tags=tags)
