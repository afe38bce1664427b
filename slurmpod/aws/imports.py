"""CloudFormation imports: existing resources join a stack. Nothing is created or deleted.

Source: CloudFormation user guide, "Import AWS resources into a CloudFormation stack".
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError, WaiterError

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import as_unavailable
from slurmpod.aws.inventory import StackRecord
from slurmpod.aws.stack_events import StackEvents
from slurmpod.problems import WorkFailed

CHANGE_SET = "slurmpod-adopt"
POLL_SECONDS = 2
POLLS = 900


@dataclass(frozen=True)
class Import:
    """One stack's part of an import: the template and the resources."""

    stack: str
    template: Mapping[str, Any]
    resources: Sequence[Mapping[str, Any]]
    """The parameter `ResourcesToImport` of CreateChangeSet."""
    tags: Mapping[str, str]


class ImportRefused(WorkFailed):
    """CloudFormation rejected an import, or it failed; the message is the reason."""


@dataclass(frozen=True)
class Imports:
    """Calls that change stacks; each waits until the change is done."""

    clients: AwsClients

    def clear(self, stack: StackRecord) -> None:
        """Delete a failed stack that can only be deleted.

        Resources that cannot be deleted with the stack stay (DeletionMode
        FORCE_DELETE_STACK), and so do those with a retain policy.
        """
        mode: Any = (
            {"DeletionMode": "FORCE_DELETE_STACK"} if stack.status == "DELETE_FAILED" else {}
        )
        with as_unavailable(f"clear the failed stack {stack.name}"):
            self.clients.cloudformation.delete_stack(StackName=stack.arn, **mode)
            waiter = self.clients.cloudformation.get_waiter("stack_delete_complete")
            try:
                waiter.wait(StackName=stack.arn, WaiterConfig=_POLLING)
            except WaiterError as error:
                raise ImportRefused(f"{stack.name} cannot be cleared: {error}") from error

    def prepare(self, wanted: Import) -> None:
        """Create the change set of an import and replace a stale one; raises ImportRefused."""
        with as_unavailable(f"prepare the import into {wanted.stack}"):
            with contextlib.suppress(ClientError):
                self.clients.cloudformation.delete_change_set(
                    StackName=wanted.stack, ChangeSetName=CHANGE_SET
                )
            try:
                self._create(wanted)
            except ClientError as error:
                reason = error.response["Error"]["Message"]
                raise ImportRefused(f"{wanted.stack}: {reason}") from error
            except WaiterError as error:
                reason = error.last_response.get("StatusReason", str(error))
                raise ImportRefused(f"{wanted.stack}: {reason}") from error

    def discard(self, wanted: Import) -> None:
        """Delete a change set, and the empty stack that was created for it."""
        with as_unavailable(f"discard the change set of {wanted.stack}"):
            self.clients.cloudformation.delete_change_set(
                StackName=wanted.stack, ChangeSetName=CHANGE_SET
            )
            (stack,) = self.clients.cloudformation.describe_stacks(StackName=wanted.stack)["Stacks"]
            if stack["StackStatus"] == "REVIEW_IN_PROGRESS":
                self.clients.cloudformation.delete_stack(StackName=wanted.stack)

    def execute(self, wanted: Import) -> None:
        """Execute the prepared import; raises ImportRefused."""
        with as_unavailable(f"import into {wanted.stack}"):
            self.clients.cloudformation.execute_change_set(
                StackName=wanted.stack, ChangeSetName=CHANGE_SET
            )
            waiter = self.clients.cloudformation.get_waiter("stack_import_complete")
            try:
                waiter.wait(StackName=wanted.stack, WaiterConfig=_POLLING)
            except WaiterError as error:
                failed = StackEvents(self.clients).first_failure(wanted.stack)
                reason = failed or "the import was rolled back"
                raise ImportRefused(f"{wanted.stack}: {reason}") from error

    def _create(self, wanted: Import) -> None:
        self.clients.cloudformation.create_change_set(
            StackName=wanted.stack,
            ChangeSetName=CHANGE_SET,
            ChangeSetType="IMPORT",
            TemplateBody=json.dumps(wanted.template),
            ResourcesToImport=list(wanted.resources),  # type: ignore[arg-type]
            Capabilities=["CAPABILITY_NAMED_IAM"],
            Tags=[{"Key": key, "Value": value} for key, value in wanted.tags.items()],
        )
        waiter = self.clients.cloudformation.get_waiter("change_set_create_complete")
        waiter.wait(StackName=wanted.stack, ChangeSetName=CHANGE_SET, WaiterConfig=_POLLING)


_POLLING: Any = {"Delay": POLL_SECONDS, "MaxAttempts": POLLS}
