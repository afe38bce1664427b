"""The deployed stacks of an account."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import as_unavailable
from slurmpod.aws.stack import Stack
from slurmpod.aws.stack_events import StackEvents

if TYPE_CHECKING:
    from types_boto3_cloudformation.type_defs import StackTypeDef


@dataclass(frozen=True)
class Deployment:
    """Queries to one account and Region; each raises AwsUnavailable when AWS does not answer."""

    clients: AwsClients

    def stacks(self, names: Iterable[str]) -> tuple[Stack, ...]:
        """Return the named stacks that exist, in the order of the names."""
        with as_unavailable("describe the stacks"):
            return tuple(map(self._stack, self._described(names)))

    def statuses(self, names: Iterable[str]) -> dict[str, str]:
        """Return the status of each named stack that exists, without failure reasons."""
        with as_unavailable("describe the stacks"):
            return {each["StackName"]: each["StackStatus"] for each in self._described(names)}

    def _described(self, names: Iterable[str]) -> list[StackTypeDef]:
        pages = self.clients.cloudformation.get_paginator("describe_stacks").paginate()
        found = {stack["StackName"]: stack for page in pages for stack in page["Stacks"]}
        return [found[name] for name in names if name in found]

    def _stack(self, described: StackTypeDef) -> Stack:
        outputs = described.get("Outputs", [])
        return Stack(
            name=described["StackName"],
            status=described["StackStatus"],
            failure=self._failure(described["StackName"], described["StackStatus"]),
            outputs={output["OutputKey"]: output["OutputValue"] for output in outputs},
            changed=_changed(described),
        )

    def _failure(self, stack: str, status: str) -> str:
        """Return why a stack failed: the reason of the first resource that failed in this run."""
        if "FAILED" not in status and "ROLLBACK" not in status:
            return ""
        return StackEvents(self.clients).first_failure(stack)


def _changed(described: StackTypeDef) -> str:
    when = described.get("LastUpdatedTime") or described.get("CreationTime")
    return when.isoformat(timespec="seconds") if when else ""
