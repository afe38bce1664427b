"""Tags of resources: the calls that change them, and their forms in the services' APIs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


def tags_of(properties: Mapping[str, Any]) -> dict[str, str]:
    """Return the tags of a resource, given as a list or, for some types, a mapping."""
    given = properties.get("Tags", [])
    return dict(given) if isinstance(given, dict) else {tag["Key"]: tag["Value"] for tag in given}


def as_pairs(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """Return tags in the form of most services: a list of Key and Value."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def as_kms_pairs(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """Return tags in the form of KMS."""
    return [{"TagKey": key, "TagValue": value} for key, value in tags.items()]


def as_keys(keys: list[str]) -> list[dict[str, str]]:
    """Return the keys of removed tags in the form of EC2."""
    return [{"Key": key} for key in keys]


@dataclass(frozen=True)
class Tagging:
    """A service's tagging calls, and their names for resource, tags and keys."""

    resource: str
    by_attribute: str | None = None
    """The attribute that identifies the resource in the calls, if not its physical id."""
    tag: str = "tag_resource"
    untag: str = "untag_resource"
    tags: str = "Tags"
    keys: str = "TagKeys"
    write: Callable[[Mapping[str, str]], Any] = as_pairs
    write_keys: Callable[[list[str]], Any] = list
    further: Mapping[str, str] = field(default_factory=dict)
    """Further arguments of both calls."""

    def change(
        self, client: Any, resource: str, old: Mapping[str, Any], new: Mapping[str, Any]
    ) -> None:
        """Set the tags of a resource to those in its `new` properties."""
        named = {**identified(self.resource, resource), **self.further}
        tags = tags_of(new)
        gone = sorted(tags_of(old).keys() - tags.keys())
        if gone:
            getattr(client, self.untag)(**named, **{self.keys: self.write_keys(gone)})
        if tags:
            getattr(client, self.tag)(**named, **{self.tags: self.write(tags)})


def identified(name: str, physical_id: str) -> dict[str, Any]:
    """Return the argument that identifies one resource: a list if the name is plural."""
    return {name: [physical_id] if name.endswith("s") else physical_id}
