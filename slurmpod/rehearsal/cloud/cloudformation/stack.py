"""The state of one stack: its resources, events and change sets. Data only, no behaviour of AWS."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.cloudformation.template import EMPTY_TEMPLATE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.cloudformation.changes import Change
    from slurmpod.rehearsal.cloud.cloudformation.template import Template

STACK_TYPE = "AWS::CloudFormation::Stack"


@dataclass
class StackResource:
    """One resource that exists, or is being made: what it was made from and what it became."""

    logical_id: str
    type: str
    properties: Mapping[str, Any]
    """The resolved properties with which it was last created or updated."""
    deletion_policy: str
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
    """What CreateStack, UpdateStack or a change set asks a stack to become."""

    template: Template
    parameters: Mapping[str, str]
    tags: Mapping[str, str]
    capabilities: tuple[str, ...] = ()
    role_arn: str | None = None


@dataclass
class ChangeSet:
    """A submission with its effect worked out, waiting to be executed."""

    arn: str
    name: str
    description: str
    kind: str
    """CREATE, UPDATE or IMPORT."""
    submission: Submission
    changes: tuple[Change, ...]
    imports: Mapping[str, str]
    """Physical ids of what is there already and enters the stack, by logical id."""
    status: str = "CREATE_COMPLETE"
    execution_status: str = "AVAILABLE"
    reason: str = ""
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))


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
    """Parameters with defaults applied and SSM names replaced by values."""
    resources: dict[str, StackResource] = field(default_factory=dict)
    former: dict[str, StackResource] = field(default_factory=dict)
    """Resources that were deleted, or that the stack let go, as they were last."""
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
        """Tell whether an operation is under way; a stack in review has had none yet."""
        return self.status.endswith("_IN_PROGRESS") and self.status != "REVIEW_IN_PROGRESS"

    @property
    def known_resources(self) -> Mapping[str, StackResource]:
        """What the stack tells about itself: after a deletion or rollback, also what is gone."""
        if self.status.startswith(("DELETE_", "ROLLBACK_")):
            return {**self.former, **self.resources}
        return self.resources

    def set_status(self, status: str, reason: str = "") -> None:
        """Move the stack to `status` and record the event of it."""
        self.status, self.reason = status, reason
        if status == "UPDATE_IN_PROGRESS":
            self.updated_at = datetime.now(UTC)
        if status == "DELETE_COMPLETE":
            self.deleted_at = datetime.now(UTC)
        self._record(self.name, self.arn, STACK_TYPE, status, reason)

    def set_resource_status(self, resource: StackResource, status: str, reason: str = "") -> None:
        """Move a resource to `status` and record the event of it."""
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
                event_id=str(uuid.uuid4()),
                logical_id=logical_id,
                physical_id=physical_id,
                type=resource_type,
                status=status,
                reason=reason,
                timestamp=now,
            )
        )
