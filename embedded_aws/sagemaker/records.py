"""SageMaker resources that are stored as requested: models, endpoints, notebook instances.

Names are unique in a Region, ignoring case.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from embedded_aws.clients import Clients
from embedded_aws.errors import ServiceError
from embedded_aws.sagemaker.describe import Entry, list_page

Shape = dict[str, Any]


def now() -> datetime:
    """Return the current time for descriptions."""
    return datetime.now(UTC)


@dataclass
class Record:
    """One resource: its request, its tags, and the members that SageMaker adds."""

    arn: str
    name: str
    given: Shape
    tags: dict[str, str]
    own: Shape = field(default_factory=dict)
    created_at: datetime = field(default_factory=now)
    modified_at: datetime = field(default_factory=now)


class Records:
    """All resources of one kind.

    `noun` is the kind in messages, `kind` the one in ARNs; `name_of` is the API member for names.
    """

    def __init__(
        self, clients: Callable[[str], Clients], *, noun: str, kind: str, name_of: str
    ) -> None:
        self._clients = clients
        self._noun, self._kind, self.name_of = noun, kind, name_of
        self._records: dict[tuple[str, str], Record] = {}
        self._lock = threading.Lock()

    def add(self, region: str, given: Mapping[str, Any]) -> Record:
        """Add a resource; raises ServiceError if its name is in use."""
        name = given[self.name_of]
        tags = {tag["Key"]: tag["Value"] for tag in given.get("Tags", ())}
        asked = {key: value for key, value in given.items() if key != "Tags"}
        record = Record(self._arn(region, name), name, asked, tags)
        with self._lock:
            if (region, name.lower()) in self._records:
                raise ServiceError(
                    "ValidationException",
                    f"Cannot create already existing {self._noun} '{record.arn}'.",
                )
            self._records[region, name.lower()] = record
        return record

    def find(self, region: str, name: str) -> Record:
        """Return a resource by name; raises ServiceError if it does not exist."""
        record = self._records.get((region, name.lower()))
        if record is None:
            arn = self._arn(region, name)
            raise ServiceError("ValidationException", f"Could not find {self._noun} '{arn}'.")
        return record

    def remove(self, region: str, name: str) -> Record:
        """Remove a resource by name; raises ServiceError if it does not exist."""
        with self._lock:
            record = self.find(region, name)
            return self._records.pop((region, record.name.lower()))

    def of_arn(self, arn: str) -> Record | None:
        """Return the resource with an ARN, or None."""
        _, _, _, region, *_ = [*arn.split(":"), "", "", "", ""]
        record = self._records.get((region, arn.rpartition("/")[2].lower()))
        return record if record and record.arn == arn else None

    def page(
        self, region: str, given: Mapping[str, Any], member: str, own: Iterable[str] = ()
    ) -> Shape:
        """Answer a list operation: summaries with the `own` members of this kind."""
        entries = [
            Entry(
                record.name,
                record.created_at,
                {
                    self.name_of: record.name,
                    self.name_of.removesuffix("Name") + "Arn": record.arn,
                    "CreationTime": record.created_at,
                    "LastModifiedTime": record.modified_at,
                    **{name: record.own[name] for name in own},
                },
            )
            for (of_region, _), record in list(self._records.items())
            if of_region == region and given.get("NameContains", "").lower() in record.name.lower()
        ]
        page, token = list_page(entries, given)
        return {member: page, "NextToken": token}

    def described(self, record: Record) -> Shape:
        """Return the members that describe operations share for all kinds."""
        return {
            **record.given,
            **record.own,
            self.name_of.removesuffix("Name") + "Arn": record.arn,
            "CreationTime": record.created_at,
            "LastModifiedTime": record.modified_at,
        }

    def _arn(self, region: str, name: str) -> str:
        return self._clients(region).arn("sagemaker", f"{self._kind}/{name.lower()}")
