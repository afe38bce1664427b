"""The last run of CloudFormation on a stack, resource by resource, with times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import as_unavailable

BEGINS = ("CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "DELETE_IN_PROGRESS", "IMPORT_IN_PROGRESS")
"""A run begins with one of these statuses of the stack itself (API reference)."""

ENDS = ("_COMPLETE", "_FAILED", "_SKIPPED")


@dataclass(frozen=True)
class ResourceRun:
    """The work on one resource; `ended` is None while it runs, `reason` is why it failed."""

    logical_id: str
    type: str
    began: datetime
    ended: datetime | None
    status: str
    reason: str = ""


@dataclass(frozen=True)
class StackRun:
    """The last creation, update or deletion of a stack; its resources by start time."""

    stack: str
    began: datetime
    ended: datetime | None
    status: str
    resources: tuple[ResourceRun, ...]


@dataclass(frozen=True)
class StackEvents:
    """Queries to one account and Region; each raises AwsUnavailable when AWS does not answer."""

    clients: AwsClients

    def last_runs(self, stacks: Iterable[str]) -> tuple[StackRun, ...]:
        """Return the last run of each stack; all of them must exist."""
        runs = (self._last_run(stack) for stack in stacks)
        return tuple(run for run in runs if run)

    def first_failure(self, stack: str) -> str:
        """Return the resource that failed first in the last run, and why; empty if none did."""
        failed = (
            f"{event['LogicalResourceId']}: {event.get('ResourceStatusReason', '')}"
            for event in self._of_last_run(stack)
            if event["ResourceStatus"].endswith("_FAILED")
        )
        return next(failed, "")

    def _last_run(self, stack: str) -> StackRun | None:
        return run_of(stack, self._of_last_run(stack))

    def _of_last_run(self, stack: str) -> tuple[Mapping[str, Any], ...]:
        """Return the events of the last run, oldest first."""
        with as_unavailable(f"read what happened to {stack}"):
            pages = self.clients.cloudformation.get_paginator("describe_stack_events").paginate(
                StackName=stack
            )
            return tuple(reversed(list(_back_to_the_beginning(pages))))


def _back_to_the_beginning(pages: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the events of the last run, newest first."""
    for page in pages:
        for event in page["StackEvents"]:
            yield event
            if _is_of_stack(event) and event["ResourceStatus"] in BEGINS:
                return


def run_of(stack: str, events: Sequence[Mapping[str, Any]]) -> StackRun | None:
    """Combine the events of one run, oldest first; None without events."""
    by_resource: dict[str, list[Mapping[str, Any]]] = {}
    own = [event for event in events if _is_of_stack(event)]
    for event in events:
        if not _is_of_stack(event):
            by_resource.setdefault(event["LogicalResourceId"], []).append(event)
    if not own or own[0]["ResourceStatus"] not in BEGINS:
        return None  # only a change set that waits for review
    whole = _resource_run(own)
    resources = tuple(map(_resource_run, by_resource.values()))
    return StackRun(stack, whole.began, whole.ended, whole.status, resources)


def _is_of_stack(event: Mapping[str, Any]) -> bool:
    return bool(event.get("PhysicalResourceId") == event["StackId"])


def _resource_run(events: Sequence[Mapping[str, Any]]) -> ResourceRun:
    """Combine the events of one resource; one that failed stays failed, whatever came after."""
    last = events[-1]
    failed = next((each for each in events if each["ResourceStatus"].endswith("_FAILED")), None)
    return ResourceRun(
        logical_id=last["LogicalResourceId"],
        type=last["ResourceType"],
        began=events[0]["Timestamp"],
        ended=last["Timestamp"] if last["ResourceStatus"].endswith(ENDS) else None,
        status=(failed or last)["ResourceStatus"],
        reason=failed.get("ResourceStatusReason", "") if failed else "",
    )
