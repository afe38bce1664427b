"""Stacks of the environment: their states, and resources that could not be rolled back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from slurmpod.aws.clients import AwsClients
from slurmpod.operations.deployed import LiveEnvironment
from slurmpod.preflight.facts import Facts
from slurmpod.preflight.question import Question
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import Finding

STACK_STATES = (
    "https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/"
    "cfn-console-view-stack-data-resources.html"
)
NAME = ("name",)
DEAD = ("CREATE_FAILED", "DELETE_FAILED")
"""States in which a stack can only be deleted. `cdk deploy` itself deletes stacks whose creation
was rolled back.
"""

ROLLED_BACK = ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED")
"""States after a failed creation: `cdk deploy` deletes these stacks before it creates them again.
"""

STUCK = "UPDATE_ROLLBACK_FAILED"
"""State in which CloudFormation updates a stack only after `continue-update-rollback`."""


@dataclass(frozen=True)
class FailedRollback:
    """A resource that CloudFormation could not roll back: its logical id, and the reason."""

    resource: str
    reason: str


def _stacks(clients: AwsClients, resolved: Resolved) -> Mapping[str, str]:
    return LiveEnvironment(clients, resolved).statuses()


STACKS = Question(
    "stacks", "stacks", ("cloudformation:DescribeStacks",), ("cloudformation",), _stacks
)


def will_be_made(facts: Facts, stack: str | None) -> bool:
    """Return whether a stack of the environment does not exist yet, or was rolled back."""
    status = (facts[STACKS] or {}).get(stack or "", ROLLED_BACK[0])
    return stack is not None and status in ROLLED_BACK


def _failed_rollbacks(
    clients: AwsClients, resolved: Resolved
) -> dict[str, tuple[FailedRollback, ...]]:
    """Return the resources that block the rollback of stacks."""
    stuck = (name for name, status in _stacks(clients, resolved).items() if status == STUCK)
    return {name: tuple(_not_changed_back(clients, name)) for name in stuck}


def _not_changed_back(clients: AwsClients, stack: str) -> Iterator[FailedRollback]:
    pages = clients.cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack)
    for each in (each for page in pages for each in page["StackResourceSummaries"]):
        if each["ResourceStatus"] == "UPDATE_FAILED":
            yield FailedRollback(each["LogicalResourceId"], each.get("ResourceStatusReason", ""))


FAILED_ROLLBACKS = Question(
    "failed_rollbacks",
    "resources that were not rolled back",
    ("cloudformation:DescribeStacks", "cloudformation:ListStackResources"),
    ("cloudformation",),
    _failed_rollbacks,
)


@PREFLIGHT.rule(
    "PRE-602",
    "Stacks can be deployed",
    why="CloudFormation does not update a stack whose deletion failed, or which is being changed.",
    fix="delete the stack (aws cloudformation delete-stack), or wait until its operation has ended",
    source=STACK_STATES,
)
def _stacks_can_be_deployed(_: Resolved, facts: Facts) -> Iterator[Finding]:
    for name, status in (facts[STACKS] or {}).items():
        if status in DEAD:
            fix = f"aws cloudformation delete-stack --stack-name {name}"
            yield Finding(NAME, f"the stack {name} is {status}", fix)
        elif status.endswith("_IN_PROGRESS") and status != "REVIEW_IN_PROGRESS":
            yield Finding(
                NAME, f"the stack {name} is {status}", "wait until the operation has ended"
            )
        elif status == STUCK:
            yield _stuck(name, (facts[FAILED_ROLLBACKS] or {}).get(name, ()))


def _stuck(stack: str, failed: Sequence[FailedRollback]) -> Finding:
    """Report resources that could not be rolled back, and how to continue with or without them."""
    reasons = "; ".join(
        f"{each.resource} ({each.reason})" if each.reason else each.resource for each in failed
    )
    command = f"aws cloudformation continue-update-rollback --stack-name {stack}"
    fix = f"remove the cause, then: {command}"
    if failed:
        skipped = " ".join(each.resource for each in failed)
        fix += (
            f"; if it cannot be removed, add --resources-to-skip {skipped}: CloudFormation then "
            "considers these rolled back, so restore them to the template's state afterwards"
        )
    return Finding(NAME, f"the stack {stack} is {STUCK}{': ' * bool(reasons)}{reasons}", fix)


QUESTIONS = (STACKS, FAILED_ROLLBACKS)
