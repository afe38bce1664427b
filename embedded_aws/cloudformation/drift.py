"""Drift: differences between resources and what their stack deployed.

Only properties in the template are compared, and only those that a description of the resource has
under the same name. Types that CloudFormation cannot read, or that have no description here, are
not checked. Source: CloudFormation user guide, "Detect unmanaged configuration changes to
stacks and resources with drift detection".
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from botocore.exceptions import ClientError

from embedded_aws.cloudformation.provisioner import Provisioner, is_gone
from embedded_aws.cloudformation.stack import StackResource
from embedded_aws.resources import registry, schemas
from embedded_aws.templates.intrinsics import as_text

DELETED: Final = "DELETED"
IN_SYNC: Final = "IN_SYNC"
MODIFIED: Final = "MODIFIED"
NOT_CHECKED: Final = "NOT_CHECKED"


@dataclass(frozen=True)
class Difference:
    """One value that differs from the stack's; `path` begins with a slash."""

    path: str
    expected: Any
    actual: Any
    kind: str
    """ADD, REMOVE or NOT_EQUAL."""


@dataclass(frozen=True)
class Drift:
    """The result of the last drift detection of one resource."""

    resource: StackResource
    status: str
    actual: Mapping[str, Any] = field(default_factory=dict)
    differences: tuple[Difference, ...] = ()
    looked_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def is_drifted(self) -> bool:
        """Whether the resource was changed or deleted outside the stack."""
        return self.status in (DELETED, MODIFIED)


def drift_of(resource: StackResource, provisioner: Provisioner, attached: Collection[str]) -> Drift:
    """Detect drift of a resource.

    `attached` are the ids of its stack's resources: if a part of the resource is one of them, such
    as a rule of a security group, that is no drift.
    """
    provider = registry.provider_for(resource.logical_id, resource.type)
    if not schemas.import_identifiers(resource.type):
        return Drift(resource, NOT_CHECKED)
    try:
        actual = provider.actual(provisioner.request_with_values(resource), resource.physical_id)
    except ClientError as error:
        return Drift(resource, DELETED if is_gone(error) else NOT_CHECKED)
    if actual is None:
        return Drift(resource, NOT_CHECKED)
    expected = {name: value for name, value in resource.properties.items() if name in actual}
    found = tuple(
        each for each in differences(expected, actual) if not _is_attached(each.actual, attached)
    )
    return Drift(resource, MODIFIED if found else IN_SYNC, actual, found)


def _is_attached(item: Any, attached: Collection[str]) -> bool:
    return isinstance(item, dict) and item.get("Id") in attached


def differences(expected: Any, actual: Any, path: str = "") -> Iterator[Difference]:
    """Yield the differences from the expected value; unexpected names are ignored."""
    if isinstance(expected, dict) and isinstance(actual, str):
        actual = _document(actual)
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name in expected.keys() & actual.keys():
            yield from differences(expected[name], actual[name], f"{path}/{name}")
    elif isinstance(expected, list) and isinstance(actual, list):
        yield from _items(expected, actual, path)
    elif not _is_read_elsewhere(expected) and as_text(expected) != as_text(actual):
        yield Difference(path, expected, actual, "NOT_EQUAL")


def _items(expected: Sequence[Any], actual: Sequence[Any], path: str) -> Iterator[Difference]:
    """Yield the items that are in one of the lists only; order does not matter."""
    for number, item in enumerate(expected):
        if not any(_is_like(item, other) for other in actual):
            yield Difference(f"{path}/{number}", item, None, "REMOVE")
    for number, item in enumerate(actual):
        if not any(_is_like(other, item) for other in expected):
            yield Difference(f"{path}/{number}", None, item, "ADD")


def _is_like(expected: Any, actual: Any) -> bool:
    return not any(differences(expected, actual))


def _is_read_elsewhere(expected: Any) -> bool:
    """Return whether the value contains a dynamic reference."""
    return isinstance(expected, str) and "{{resolve:" in expected


def _document(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
