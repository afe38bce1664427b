"""Stacks of the account: their state, and which operations it permits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from embedded_aws.clients import Clients
from embedded_aws.errors import ServiceError, validation_error
from embedded_aws.ids import ids
from embedded_aws.templates.template import EMPTY_TEMPLATE, Template

STACK_TYPE = "AWS::CloudFormation::Stack"


@dataclass
class StackResource:
    """One resource that exists or is being created: its definition and its current state."""

    logical_id: str
    type: str
    properties: Mapping[str, Any]
    """The resolved properties with which it was last created or updated."""
    deletion_policy: str
    needs: frozenset[str]
    """Logical ids that its definition refers to; those resources are deleted after it."""
    physical_id: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    status: str = "CREATE_IN_PROGRESS"
    reason: str = ""
    updated_at: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass(frozen=True)
class StackEvent:
    """One line of DescribeStackEvents."""

    event_id: str
    logical_id: str
    physical_id: str
    type: str
    status: str
    reason: str
    timestamp: datetime


@dataclass(frozen=True)
class Submission:
    """The input of CreateStack, UpdateStack or a change set: the desired stack."""

    template: Template
    parameters: Mapping[str, str]
    tags: Mapping[str, str]
    capabilities: tuple[str, ...] = ()
    role_arn: str | None = None


@dataclass(frozen=True)
class Change:
    """One line of DescribeChangeSet."""

    action: str
    """Add, Modify or Remove."""
    logical_id: str
    type: str
    physical_id: str = ""
    properties: tuple[str, ...] = ()
    """The names of the properties that change; only when the action is Modify."""
    replacement: bool = False


@dataclass
class ChangeSet:
    """A submission with its planned changes, ready to be executed."""

    arn: str
    name: str
    description: str
    kind: str
    """CREATE, UPDATE or IMPORT."""
    submission: Submission
    changes: tuple[Change, ...]
    imports: Mapping[str, str]
    """Physical ids of existing resources to import, by logical id."""
    status: str = "CREATE_COMPLETE"
    execution_status: str = "AVAILABLE"
    reason: str = ""
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass(frozen=True)
class ResourceToImport:
    """One entry of ResourcesToImport: a resource of the template and its identifier."""

    logical_id: str
    type: str
    identifier: Mapping[str, str]


@dataclass(frozen=True)
class ChangeSetRequest:
    """The input of CreateChangeSet; `kind` is CREATE, UPDATE or IMPORT."""

    stack_name: str
    name: str
    kind: str
    description: str
    submission: Submission
    to_import: tuple[ResourceToImport, ...] = ()
    imports_existing: bool = False
    """Whether existing resources with the names in the template are imported."""


@dataclass(frozen=True)
class DeletionRequest:
    """The options of DeleteStack.

    `retained` are logical ids to keep; `is_forced` keeps all resources that cannot be deleted.
    """

    retained: frozenset[str] = frozenset()
    is_forced: bool = False


STANDARD_DELETION = DeletionRequest()


@dataclass
class Stack:
    """One stack of one region."""

    arn: str
    name: str
    region: str
    status: str = "REVIEW_IN_PROGRESS"
    reason: str = ""
    submission: Submission = field(
        default_factory=lambda: Submission(EMPTY_TEMPLATE, parameters={}, tags={})
    )
    resolved_parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters with defaults applied and SSM names resolved."""
    resources: dict[str, StackResource] = field(default_factory=dict)
    former: dict[str, StackResource] = field(default_factory=dict)
    """Resources that were deleted or removed from the stack, in their last state."""
    outputs: Mapping[str, str] = field(default_factory=dict)
    exports: Mapping[str, str] = field(default_factory=dict)
    imports: frozenset[str] = frozenset()
    """Names of exports of other stacks that this stack's resources use."""
    events: list[StackEvent] = field(default_factory=list)
    change_sets: dict[str, ChangeSet] = field(default_factory=dict)
    termination_protection: bool = False
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    updated_at: datetime | None = None
    deleted_at: datetime | None = None

    @property
    def is_busy(self) -> bool:
        """Whether an operation is in progress; a stack in review has had none yet."""
        return self.status.endswith("_IN_PROGRESS") and self.status != "REVIEW_IN_PROGRESS"

    @property
    def known_resources(self) -> Mapping[str, StackResource]:
        """The resources that the stack lists; after a deletion or rollback, also deleted ones."""
        if self.status.startswith(("DELETE_", "ROLLBACK_")):
            return {**self.former, **self.resources}
        return self.resources

    def set_status(self, status: str, reason: str = "") -> None:
        """Move the stack to `status` and record the event."""
        self.status, self.reason = status, reason
        if status == "UPDATE_IN_PROGRESS":
            self.updated_at = datetime.now(UTC)
        if status == "DELETE_COMPLETE":
            self.deleted_at = datetime.now(UTC)
        self._record(self.name, self.arn, STACK_TYPE, status, reason)

    def set_resource_status(self, resource: StackResource, status: str, reason: str = "") -> None:
        """Move a resource to `status` and record the event."""
        resource.status, resource.reason = status, reason
        resource.updated_at = datetime.now(UTC)
        self._record(resource.logical_id, resource.physical_id, resource.type, status, reason)

    def _record(
        self, logical_id: str, physical_id: str, resource_type: str, status: str, reason: str
    ) -> None:
        """Add an event, later than the one before it: the CDK CLI sorts them by milliseconds."""
        now = datetime.now(UTC)
        if self.events:
            now = max(now, self.events[-1].timestamp + timedelta(milliseconds=1))
        self.events.append(
            StackEvent(
                event_id=ids.uuid(f"event of {self.arn}"),
                logical_id=logical_id,
                physical_id=physical_id,
                type=resource_type,
                status=status,
                reason=reason,
                timestamp=now,
            )
        )


class Stacks:
    """The stacks of every Region, including deleted ones, which are found by ARN only."""

    def __init__(self) -> None:
        self._by_region: dict[str, list[Stack]] = defaultdict(list)

    def add(self, name: str, aws: Clients) -> Stack:
        """Add a new stack in review; raises AlreadyExistsException."""
        if any(stack.name == name for stack in self.active(aws.region)):
            raise ServiceError("AlreadyExistsException", f"Stack [{name}] already exists")
        prefix = f"arn:{aws.partition}:cloudformation:{aws.region}:{aws.account}:stack"
        stack = Stack(arn=f"{prefix}/{name}/{ids.uuid(name)}", name=name, region=aws.region)
        self._by_region[aws.region].append(stack)
        return stack

    def drop(self, stack: Stack) -> None:
        """Forget a stack that never had a resource."""
        self._by_region[stack.region].remove(stack)

    def everything(self, region: str) -> list[Stack]:
        """Return all stacks of a region, newest first, deleted ones included."""
        return self._by_region[region][::-1]

    def active(self, region: str) -> list[Stack]:
        """Return the stacks of a region that are not deleted, newest first."""
        return [s for s in self.everything(region) if s.status != "DELETE_COMPLETE"]

    def find(self, region: str, name_or_arn: str) -> Stack:
        """Return a stack by name, or by ARN also after its deletion; raises ValidationError."""
        for stack in self.active(region):
            if stack.name == name_or_arn:
                return stack
        for stack in self.everything(region):
            if stack.arn == name_or_arn:
                return stack
        raise validation_error(f"Stack with id {name_or_arn} does not exist")

    def owner(self, region: str, resource_type: str, physical_id: str) -> Stack | None:
        """Return the stack that a resource belongs to, if any."""
        for stack in self.active(region):
            for resource in stack.resources.values():
                if (resource.type, resource.physical_id) == (resource_type, physical_id):
                    return stack
        return None

    def ancestors(self, stack: Stack) -> list[Stack]:
        """Return the stacks that contain a nested stack, its parent first, its root last."""
        parent = self.owner(stack.region, STACK_TYPE, stack.arn)
        return [parent, *self.ancestors(parent)] if parent else []

    def importers(self, stack: Stack) -> list[tuple[str, str]]:
        """Return (export, importing stack) for every export of `stack` that is in use."""
        return [
            (name, other.name)
            for other in self.active(stack.region)
            for name in sorted(other.imports & stack.exports.keys())
        ]


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
"""Final status after an internal error of the embedded AWS, by the first word of the status."""


def require_idle(stack: Stack) -> None:
    """Raise ValidationError while an operation is in progress."""
    if stack.is_busy:
        raise _cannot_update(stack)


def require_status(stack: Stack, status: str, operation: str) -> None:
    """Raise ValidationError unless the stack has the status that the operation requires."""
    if stack.status != status:
        raise validation_error(
            f"{operation} cannot be called from current stack status: {stack.status}"
        )


def require_updatable(stack: Stack) -> None:
    """Raise ValidationError for a stack that cannot be updated or imported into."""
    if stack.status not in _UPDATABLE:
        raise _cannot_update(stack)


def require_deletable(stack: Stack, request: DeletionRequest) -> None:
    """Raise ValidationError for a protected stack, and for options that do not apply yet."""
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
