"""Drift: what resources are, beside what their stack made them.

Only what the template says is compared, and of that only what a description of the resource has
under the same name. Types that CloudFormation cannot read, and those that nothing here describes,
are not checked. Source: CloudFormation user guide, "Detect unmanaged configuration changes to
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
    """One value that is not as the stack has it; `path` begins with a slash."""

    path: str
    expected: Any
    actual: Any
    kind: str
    """ADD, REMOVE or NOT_EQUAL."""


@dataclass(frozen=True)
class Drift:
    """What is known of one resource since it was looked at."""

    resource: StackResource
    status: str
    actual: Mapping[str, Any] = field(default_factory=dict)
    differences: tuple[Difference, ...] = ()
    looked_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def is_drifted(self) -> bool:
        """Return whether somebody else has changed or deleted the resource."""
        return self.status in (DELETED, MODIFIED)


def drift_of(resource: StackResource, provisioner: Provisioner, attached: Collection[str]) -> Drift:
    """Look at a resource.

    `attached` are the ids of its stack's resources: what is one of them, such as a rule in a
    security group, is no drift of the one that has it.
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
    """Yield where a value is not what is expected; names that are not expected do not matter."""
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
    """Yield the items that only one of two lists has; their order does not matter."""
    for number, item in enumerate(expected):
        if not any(_is_like(item, other) for other in actual):
            yield Difference(f"{path}/{number}", item, None, "REMOVE")
    for number, item in enumerate(actual):
        if not any(_is_like(other, item) for other in expected):
            yield Difference(f"{path}/{number}", None, item, "ADD")


def _is_like(expected: Any, actual: Any) -> bool:
    return not any(differences(expected, actual))


def _is_read_elsewhere(expected: Any) -> bool:
    """Return whether a dynamic reference stands for the value."""
    return isinstance(expected, str) and "{{resolve:" in expected


def _document(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
