"""The last run of a stack: where it begins, what failed first, and what still goes on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.stack_events import StackEvents, StackRun

STACK = "arn:aws:cloudformation:us-west-2:123456789012:stack/dev-network/1"
BEGAN = datetime(2026, 11, 23, 21, 0, tzinfo=UTC)


def event(seconds: float, name: str, status: str, reason: str = "") -> dict[str, Any]:
    return {
        "StackId": STACK,
        "LogicalResourceId": name,
        "PhysicalResourceId": STACK if name == "dev-network" else name,
        "ResourceType": "AWS::EC2::VPC",
        "ResourceStatus": status,
        "ResourceStatusReason": reason,
        "Timestamp": BEGAN + timedelta(seconds=seconds),
    }


def told(*events: dict[str, Any]) -> StackEvents:
    """Return what tells of events, the oldest first, two on a page."""
    newest = list(reversed(events))
    pages = [{"StackEvents": newest[at : at + 2]} for at in range(0, len(newest), 2)]
    paginator = SimpleNamespace(paginate=lambda StackName: pages)  # noqa: N803
    clients: Any = SimpleNamespace(
        cloudformation=SimpleNamespace(get_paginator=lambda _: paginator)
    )
    return StackEvents(clients)


def run(*events: dict[str, Any]) -> StackRun | None:
    """Return the last run from events, the oldest first."""
    return next(iter(told(*events).last_runs(["dev-network"])), None)


MADE = (
    event(0, "dev-network", "REVIEW_IN_PROGRESS"),
    event(1, "dev-network", "CREATE_IN_PROGRESS"),
    event(2, "Vpc", "CREATE_IN_PROGRESS"),
    event(3, "Vpc", "CREATE_IN_PROGRESS", "Resource creation Initiated"),
    event(9, "Vpc", "CREATE_COMPLETE"),
    event(10, "dev-network", "CREATE_COMPLETE"),
)


def seconds(when: datetime | None) -> float | None:
    return (when - BEGAN).total_seconds() if when else None


def test_a_creation_begins_after_its_review() -> None:
    found = run(*MADE)
    assert found
    assert (seconds(found.began), seconds(found.ended), found.status) == (1, 10, "CREATE_COMPLETE")
    (vpc,) = found.resources
    assert (vpc.logical_id, seconds(vpc.began), seconds(vpc.ended)) == ("Vpc", 2, 9)


def test_a_stack_that_is_only_looked_at_has_no_run() -> None:
    assert run(MADE[0]) is None


def test_what_was_done_before_the_last_update_is_left_out() -> None:
    found = run(
        *MADE,
        event(100, "dev-network", "UPDATE_IN_PROGRESS"),
        event(101, "Endpoint", "CREATE_IN_PROGRESS"),
        event(105, "Endpoint", "CREATE_COMPLETE"),
        event(106, "dev-network", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"),
        event(107, "dev-network", "UPDATE_COMPLETE"),
    )
    assert found
    assert [each.logical_id for each in found.resources] == ["Endpoint"]
    assert (seconds(found.began), seconds(found.ended)) == (100, 107)


def test_what_failed_stays_failed_after_it_was_taken_back() -> None:
    found = run(
        *MADE[:3],
        event(5, "Vpc", "CREATE_FAILED", "no more VPCs"),
        event(6, "dev-network", "ROLLBACK_IN_PROGRESS"),
        event(7, "Vpc", "DELETE_IN_PROGRESS"),
        event(8, "Vpc", "DELETE_COMPLETE"),
        event(9, "dev-network", "ROLLBACK_COMPLETE"),
    )
    assert found
    assert (found.status, seconds(found.ended)) == ("ROLLBACK_COMPLETE", 9)
    (vpc,) = found.resources
    assert (vpc.status, vpc.reason) == ("CREATE_FAILED", "no more VPCs")


def test_the_first_failure_is_that_of_the_last_run() -> None:
    failed_before = (
        *MADE,
        event(50, "dev-network", "UPDATE_IN_PROGRESS"),
        event(51, "Role", "UPDATE_FAILED", "denied"),
        event(52, "dev-network", "UPDATE_ROLLBACK_IN_PROGRESS"),
        event(53, "dev-network", "UPDATE_ROLLBACK_COMPLETE"),
    )
    assert told(*failed_before).first_failure("dev-network") == "Role: denied"
    events = told(
        *failed_before,
        event(100, "dev-network", "UPDATE_IN_PROGRESS"),
        event(101, "Lustre", "CREATE_FAILED", "capacity"),
        event(102, "Role", "UPDATE_FAILED", "Resource update cancelled"),
        event(103, "dev-network", "UPDATE_ROLLBACK_IN_PROGRESS"),
        event(104, "Lustre", "DELETE_COMPLETE"),
        event(105, "dev-network", "UPDATE_ROLLBACK_COMPLETE"),
    )
    assert events.first_failure("dev-network") == "Lustre: capacity"
    assert told(*MADE).first_failure("dev-network") == ""


def test_what_goes_on_has_no_end() -> None:
    found = run(*MADE[:4])
    assert found
    assert found.ended is None
    assert found.resources[0].ended is None


def test_who_may_not_read_events_is_told() -> None:
    def refuse(_: str) -> Any:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "X")

    clients: Any = SimpleNamespace(cloudformation=SimpleNamespace(get_paginator=refuse))
    with pytest.raises(AwsUnavailable, match="cannot read what happened to dev-network: Access"):
        StackEvents(clients).last_runs(["dev-network"])
