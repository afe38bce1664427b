"""Which state of a stack lets an operation begin, and in which one a broken operation ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slurmpod.rehearsal.cloud.errors import validation_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.cloudformation.removal import DeletionRequest
    from slurmpod.rehearsal.cloud.cloudformation.stack import Stack

_UPDATABLE = (
    "CREATE_COMPLETE",
    "IMPORT_COMPLETE",
    "IMPORT_ROLLBACK_COMPLETE",
    "UPDATE_COMPLETE",
    "UPDATE_ROLLBACK_COMPLETE",
)
BROKEN: Final[Mapping[str, str]] = {
    "CREATE": "ROLLBACK_FAILED",
    "ROLLBACK": "ROLLBACK_FAILED",
    "UPDATE": "UPDATE_ROLLBACK_FAILED",
    "DELETE": "DELETE_FAILED",
    "IMPORT": "IMPORT_ROLLBACK_FAILED",
}
"""Where an operation ends that the embedded AWS itself broke, by the first word of its status."""


def require_idle(stack: Stack) -> None:
    """Raise ValidationError while an operation is under way."""
    if stack.is_busy:
        raise _cannot_update(stack)


def require_updatable(stack: Stack) -> None:
    """Raise ValidationError for a stack that an update or import cannot begin with."""
    if stack.status not in _UPDATABLE:
        raise _cannot_update(stack)


def require_deletable(stack: Stack, request: DeletionRequest) -> None:
    """Raise ValidationError for a protected stack, and for a wish that comes too early."""
    if stack.termination_protection:
        raise validation_error(
            f"Stack [{stack.name}] cannot be deleted while TerminationProtection is enabled"
        )
    if (request.retained or request.is_forced) and stack.status != "DELETE_FAILED":
        raise validation_error(
            f"Invalid operation on stack [{stack.arn}]. When you delete a stack, specify which "
            "resources to retain only if the stack is in the DELETE_FAILED state."
        )


def _cannot_update(stack: Stack) -> Exception:
    return validation_error(f"Stack:{stack.arn} is in {stack.status} state and can not be updated.")
