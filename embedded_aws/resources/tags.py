"""Tags of resources: the calls that change them, and the forms in which services take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


def tags_of(properties: Mapping[str, Any]) -> dict[str, str]:
    """Return the tags of a resource; most types have them as a list, some as a mapping."""
    given = properties.get("Tags", [])
    return dict(given) if isinstance(given, dict) else {tag["Key"]: tag["Value"] for tag in given}


def as_pairs(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """Write tags as most services take them: a list of Key and Value."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def as_kms_pairs(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """Write tags as KMS takes them."""
    return [{"TagKey": key, "TagValue": value} for key, value in tags.items()]


def as_keys(keys: list[str]) -> list[dict[str, str]]:
    """Write the keys of tags that go as EC2 takes them."""
    return [{"Key": key} for key in keys]


@dataclass(frozen=True)
class Tagging:
    """A service's way to change tags: its calls, and their names for resource, tags and keys."""

    resource: str
    by_attribute: str | None = None
    """The attribute that the calls take for the resource, if that is not its physical id."""
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
        """Make the tags of a resource those of its `new` properties."""
        named = {**identified(self.resource, resource), **self.further}
        tags = tags_of(new)
        gone = sorted(tags_of(old).keys() - tags.keys())
        if gone:
            getattr(client, self.untag)(**named, **{self.keys: self.write_keys(gone)})
        if tags:
            getattr(client, self.tag)(**named, **{self.tags: self.write(tags)})


def identified(name: str, physical_id: str) -> dict[str, Any]:
    """Return the argument that names one resource: a list, if its name is a plural."""
    return {name: [physical_id] if name.endswith("s") else physical_id}
