"""The CloudFormation service: change sets, and the operations that run them.

Every public method locks for itself. Operations run in threads of their own; the methods that
start one return it, still running.
"""

from __future__ import annotations

import logging
import threading
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlparse

from slurmpod.rehearsal.cloud.cloudformation.deployment import Deployment, delete_stack
from slurmpod.rehearsal.cloud.cloudformation.provisioner import Provisioner
from slurmpod.rehearsal.cloud.cloudformation.stack import ChangeSet, Stack, Submission
from slurmpod.rehearsal.cloud.cloudformation.stacks import Neighbourhood, Stacks
from slurmpod.rehearsal.cloud.cloudformation.submissions import is_unchanged, plan, scope_of
from slurmpod.rehearsal.cloud.errors import ServiceError, validation_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmpod.rehearsal.cloud.clients import Clients
    from slurmpod.rehearsal.cloud.cloudformation.changes import Change

NO_CHANGES = (
    "The submitted information didn't contain changes. "
    "Submit different information to create a change set."
)
"""The words by which the CDK CLI recognizes an empty change set."""

_UPDATABLE = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE")
_BROKEN = {
    "CREATE": "ROLLBACK_FAILED",
    "ROLLBACK": "ROLLBACK_FAILED",
    "UPDATE": "UPDATE_ROLLBACK_FAILED",
    "DELETE": "DELETE_FAILED",
}
"""Where an operation ends that the embedded AWS itself broke, by the first word of its status."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ChangeSetRequest:
    """What CreateChangeSet was asked for; `kind` is CREATE or UPDATE."""

    stack_name: str
    name: str
    kind: str
    description: str
    submission: Submission


class CloudFormation:
    """CloudFormation of one account, all regions; `clients` returns those of a region."""

    def __init__(self, clients: Callable[[str], Clients]) -> None:
        self.lock = threading.RLock()
        self.stacks = Stacks()
        self._clients = clients
        self._operations: dict[str, threading.Thread] = {}

    def template_text(self, region: str, url: str) -> str:
        """Read a template from S3 by its URL, path style: https://host/bucket/key."""
        bucket, _, key = urlparse(url).path.lstrip("/").partition("/")
        answer = self._clients(region).s3.get_object(Bucket=bucket, Key=key)
        return answer["Body"].read().decode()

    def create_change_set(self, region: str, request: ChangeSetRequest) -> tuple[Stack, ChangeSet]:
        """Work out what a submission would change; nothing changes yet."""
        with self.lock:
            stack = self._stack_for(region, request)
            changes = self._plan_or_drop(stack, request.submission)
            change_set = ChangeSet(
                arn=f"{stack.arn.partition(':stack/')[0]}:changeSet/{request.name}/{uuid.uuid4()}",
                name=request.name,
                description=request.description,
                kind=request.kind,
                submission=request.submission,
                changes=changes,
            )
            if is_unchanged(stack, request.submission, changes):
                change_set.status, change_set.execution_status = "FAILED", "UNAVAILABLE"
                change_set.reason = NO_CHANGES
            stack.change_sets[change_set.name] = change_set
            return stack, change_set

    def execute_change_set(
        self, region: str, stack_name: str | None, change_set: str
    ) -> threading.Thread:
        """Start what a change set describes."""
        with self.lock:
            stack, found = self.find_change_set(region, stack_name, change_set)
            if found.execution_status != "AVAILABLE":
                raise ServiceError(
                    "InvalidChangeSetStatus",
                    f"ChangeSet [{found.arn}] cannot be executed in its current status of "
                    f"[{found.status}]",
                )
            _require_idle(stack)
            stack.change_sets.clear()
            return self._deploy(stack, found.submission, found.kind)

    def find_change_set(
        self, region: str, stack_name: str | None, change_set: str
    ) -> tuple[Stack, ChangeSet]:
        """Return a change set by ARN, or by name within a stack; raises ChangeSetNotFound."""
        with self.lock:
            named = [self.stacks.find(region, stack_name)] if stack_name else None
            for stack in named or self.stacks.everything(region):
                for found in stack.change_sets.values():
                    if change_set in (found.arn, found.name):
                        return stack, found
        raise ServiceError("ChangeSetNotFound", f"ChangeSet [{change_set}] does not exist")

    def create_stack(
        self, region: str, name: str, submission: Submission
    ) -> tuple[Stack, threading.Thread]:
        """Start the creation of a stack without a change set."""
        with self.lock:
            stack = self.stacks.add(name, self._clients(region))
            self._plan_or_drop(stack, submission)
            return stack, self._deploy(stack, submission, "CREATE")

    def update_stack(
        self, region: str, name: str, submission: Submission
    ) -> tuple[Stack, threading.Thread]:
        """Start the update of a stack without a change set."""
        with self.lock:
            stack = self.stacks.find(region, name)
            _require_updatable(stack)
            if is_unchanged(stack, submission, self._plan_or_drop(stack, submission)):
                raise validation_error("No updates are to be performed.")
            return stack, self._deploy(stack, submission, "UPDATE")

    def delete_stack(self, region: str, name_or_arn: str) -> threading.Thread:
        """Start the deletion of a stack; it waits for an operation that is still running."""
        with self.lock:
            stack = self.stacks.find(region, name_or_arn)
            self._require_deletable(stack)
            running = self._operations.get(stack.arn) if stack.is_busy else None
            provisioner = self._provisioner(stack)

            def delete() -> None:
                if running is not None:
                    running.join()
                    stack.set_status("DELETE_IN_PROGRESS", "User Initiated")
                delete_stack(stack, provisioner, self.lock)

            if running is None:
                stack.set_status("DELETE_IN_PROGRESS", "User Initiated")
            return self._start(stack, delete)

    def _stack_for(self, region: str, request: ChangeSetRequest) -> Stack:
        if request.kind == "UPDATE":
            stack = self.stacks.find(region, request.stack_name)
            _require_updatable(stack)
            return stack
        for stack in self.stacks.active(region):
            if stack.name == request.stack_name and stack.status == "REVIEW_IN_PROGRESS":
                return stack
        stack = self.stacks.add(request.stack_name, self._clients(region))
        stack.set_status("REVIEW_IN_PROGRESS", "User Initiated")
        return stack

    def _plan_or_drop(self, stack: Stack, submission: Submission) -> tuple[Change, ...]:
        """Plan; a stack that exists only for a submission that is refused disappears again."""
        try:
            return plan(stack, submission, self._neighbourhood(stack), self._clients(stack.region))
        except ServiceError:
            if stack.status == "REVIEW_IN_PROGRESS" and not stack.change_sets:
                self.stacks.drop(stack)
            raise

    def _deploy(self, stack: Stack, submission: Submission, kind: str) -> threading.Thread:
        neighbourhood = self._neighbourhood(stack)
        scope = scope_of(stack, submission, neighbourhood, self._clients(stack.region))
        provisioner = self._provisioner(stack)
        deployment = Deployment(stack, submission, scope, provisioner, self.lock)

        def deploy() -> None:
            deployment.create() if kind == "CREATE" else deployment.update()
            stack.imports = frozenset(neighbourhood.imported)

        stack.set_status(f"{kind}_IN_PROGRESS", "User Initiated")
        return self._start(stack, deploy)

    def _start(self, stack: Stack, work: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - a thread's last resort
                _log.exception("internal error in an operation on stack %s", stack.name)
                status = _BROKEN[stack.status.split("_")[0]]
                with self.lock:
                    stack.set_status(status, f"Internal error of the embedded AWS: {error!r}")

        thread = threading.Thread(target=run, name=f"stack-{stack.name}", daemon=True)
        self._operations[stack.arn] = thread
        thread.start()
        return thread

    def _provisioner(self, stack: Stack) -> Provisioner:
        return Provisioner(stack, self._clients(stack.region), self.lock)

    def _neighbourhood(self, stack: Stack) -> Neighbourhood:
        return Neighbourhood(self.stacks, stack.region, self._zones)

    def _zones(self, region: str) -> list[str]:
        zones = self._clients(region).ec2.describe_availability_zones()["AvailabilityZones"]
        return [zone["ZoneName"] for zone in zones]

    def _require_deletable(self, stack: Stack) -> None:
        if stack.termination_protection:
            raise validation_error(
                f"Stack [{stack.name}] cannot be deleted while TerminationProtection is enabled"
            )
        for export, importer in self.stacks.importers(stack):
            raise validation_error(
                f"Export {export} cannot be deleted as it is in use by {importer}"
            )


def _require_idle(stack: Stack) -> None:
    if stack.is_busy:
        raise validation_error(
            f"Stack:{stack.arn} is in {stack.status} state and can not be updated."
        )


def _require_updatable(stack: Stack) -> None:
    if stack.status not in _UPDATABLE:
        raise validation_error(
            f"Stack:{stack.arn} is in {stack.status} state and can not be updated."
        )
