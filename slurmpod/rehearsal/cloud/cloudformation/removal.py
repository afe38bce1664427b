"""Taking resources out of a stack, dependents first.

A resource that cannot be deleted keeps what it depends on, and nothing else: the rest goes all the
same (CloudFormation API reference, DeleteStack).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slurmpod.rehearsal.cloud.cloudformation.dependencies import creation_order, dependencies
from slurmpod.rehearsal.cloud.cloudformation.provisioner import ResourceFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from threading import RLock

    from slurmpod.rehearsal.cloud.cloudformation.provisioner import Provisioner
    from slurmpod.rehearsal.cloud.cloudformation.stack import Stack, StackResource, Submission

RETAINING = ("Retain", "RetainExceptOnCreate")
"""The policies by which a resource outlives its stack."""


@dataclass(frozen=True)
class DeletionRequest:
    """How DeleteStack was asked to go about it.

    `retained` are logical ids to leave where they are; `is_forced` leaves whatever cannot be
    deleted.
    """

    retained: frozenset[str] = frozenset()
    is_forced: bool = False


STANDARD_DELETION = DeletionRequest()


def delete_stack(
    stack: Stack, provisioner: Provisioner, lock: RLock, request: DeletionRequest
) -> None:
    """Delete a stack's resources except those that outlive it."""

    def is_kept(resource: StackResource) -> bool:
        return resource.deletion_policy in RETAINING or resource.logical_id in request.retained

    failed = remove_all(stack, provisioner, is_kept, is_forced=request.is_forced)
    with lock:
        if failed:
            stack.set_status("DELETE_FAILED", failure_text(failed))
        else:
            stack.set_status("DELETE_COMPLETE")


def remove_all(
    stack: Stack,
    provisioner: Provisioner,
    is_kept: Callable[[StackResource], bool],
    *,
    is_forced: bool = False,
) -> list[str]:
    """Delete or leave every resource of a stack; return what could not be deleted."""
    failed: list[str] = []
    for resource in deletion_order(stack, stack.submission):
        if is_kept(resource):
            provisioner.skip(resource)
        elif not _is_needed(resource.logical_id, stack.resources, stack.submission):
            try:
                provisioner.delete(resource)
            except ResourceFailed:
                if is_forced:
                    provisioner.skip(resource)
                else:
                    failed.append(resource.logical_id)
    return failed


def deletion_order(stack: Stack, submission: Submission) -> list[StackResource]:
    """Return the stack's resources, dependents first."""
    order = creation_order(submission.template.resources)
    return [stack.resources[name] for name in reversed(order) if name in stack.resources]


def failure_text(failed: Collection[str]) -> str:
    """Return CloudFormation's words for what could not be deleted."""
    return f"The following resource(s) failed to delete: [{', '.join(sorted(failed))}]. "


def _is_needed(logical_id: str, remaining: Collection[str], submission: Submission) -> bool:
    definitions = submission.template.resources
    return any(logical_id in dependencies(definitions[other]) for other in remaining)
