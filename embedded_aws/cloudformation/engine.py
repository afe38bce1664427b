"""The CloudFormation service: change sets, and the operations that run them.

Every public method does its own locking. Each operation runs in a separate thread; methods that
start one return it while it is still running.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Collection, Mapping
from typing import Final
from urllib.parse import unquote, urlparse

from embedded_aws.clients import Clients
from embedded_aws.cloudformation.changes import is_unchanged, plan, scope_of, with_imports
from embedded_aws.cloudformation.deployment import (
    Deployment,
    delete_stack,
)
from embedded_aws.cloudformation.drift import Drift, drift_of
from embedded_aws.cloudformation.exports import Neighbourhood
from embedded_aws.cloudformation.provisioner import Provisioner
from embedded_aws.cloudformation.stack import (
    BROKEN,
    STANDARD_DELETION,
    Change,
    ChangeSet,
    ChangeSetRequest,
    DeletionRequest,
    Stack,
    Stacks,
    Submission,
    require_deletable,
    require_idle,
    require_status,
    require_updatable,
)
from embedded_aws.errors import ServiceError, validation_error
from embedded_aws.ids import ids
from embedded_aws.templates.language_extensions import processed_template
from embedded_aws.templates.template import Template, TemplateError, read_template

NO_CHANGES = (
    "The submitted information didn't contain changes. "
    "Submit different information to create a change set."
)
"""The text by which the CDK CLI recognizes an empty change set."""

_log = logging.getLogger(__name__)


class CloudFormation:
    """CloudFormation of one account in all Regions; `clients` returns the clients of a Region."""

    def __init__(self, clients: Callable[[str], Clients]) -> None:
        self.lock = threading.RLock()
        self.stacks = Stacks()
        self._clients = clients
        self._operations: dict[str, threading.Thread] = {}
        self._deployments: dict[str, Deployment] = {}
        """The last deployment of each stack, by ARN: an update can be cancelled or rolled back."""

    def template(self, region: str, body: str, parameters: Mapping[str, str]) -> Template:
        """Parse a template for these parameters; raises ValidationError."""
        aws = self._clients(region)
        pseudo_parameters = {
            "AWS::AccountId": aws.account,
            "AWS::Partition": aws.partition,
            "AWS::Region": aws.region,
            "AWS::URLSuffix": aws.dns_suffix,
        }
        try:
            return processed_template(body, parameters, pseudo_parameters)
        except TemplateError as error:
            raise validation_error(str(error)) from error

    def declared_template(self, region: str, body: str) -> Template:
        """Parse a template's declarations without expanding its loops."""
        try:
            document = read_template(body)
        except TemplateError as error:
            raise validation_error(str(error)) from error
        if "Transform" in document:
            return Template(body, document, {})
        return self.template(region, body, {})

    def template_text(self, region: str, url: str) -> str:
        """Read a template from S3 by its URL."""
        bucket, key = object_of(url)
        answer = self._clients(region).s3.get_object(Bucket=bucket, Key=key)
        return answer["Body"].read().decode()

    def create_change_set(self, region: str, request: ChangeSetRequest) -> tuple[Stack, ChangeSet]:
        """Plan a submission; nothing changes yet."""
        with self.lock:
            stack = self._stack_for(region, request)
            if request.name in stack.change_sets:
                raise ServiceError(
                    "AlreadyExistsException", f"ChangeSet {request.name} already exists"
                )
            changes, imports = self._plan_or_drop(stack, request)
            prefix = stack.arn.partition(":stack/")[0]
            change_set = ChangeSet(
                arn=f"{prefix}:changeSet/{request.name}/{ids.uuid(request.name)}",
                name=request.name,
                description=request.description,
                kind=request.kind,
                submission=request.submission,
                changes=changes,
                imports=imports,
            )
            if is_unchanged(stack, request.submission, changes):
                change_set.status, change_set.execution_status = "FAILED", "UNAVAILABLE"
                change_set.reason = NO_CHANGES
            stack.change_sets[change_set.name] = change_set
            return stack, change_set

    def execute_change_set(
        self, region: str, stack_name: str | None, change_set: str
    ) -> threading.Thread:
        """Start the deployment of a change set."""
        with self.lock:
            stack, found = self.find_change_set(region, stack_name, change_set)
            if found.execution_status != "AVAILABLE":
                raise ServiceError(
                    "InvalidChangeSetStatus",
                    f"ChangeSet [{found.arn}] cannot be executed in its current status of "
                    f"[{found.status}]",
                )
            require_idle(stack)
            stack.change_sets.clear()
            return self._deploy(stack, found.submission, found.kind, found.imports)

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
            try:
                self._plan(stack, submission)
            except ServiceError:
                self.stacks.drop(stack)
                raise
            return stack, self._deploy(stack, submission, "CREATE", {})

    def update_stack(
        self, region: str, name: str, submission: Submission
    ) -> tuple[Stack, threading.Thread]:
        """Start the update of a stack without a change set."""
        with self.lock:
            stack = self.stacks.find(region, name)
            require_updatable(stack)
            if is_unchanged(stack, submission, self._plan(stack, submission)):
                raise validation_error("No updates are to be performed.")
            return stack, self._deploy(stack, submission, "UPDATE", {})

    def cancel_update(self, region: str, name: str) -> None:
        """Cancel the running update, which rolls back; raises ValidationError if there is none."""
        with self.lock:
            stack = self.stacks.find(region, name)
            require_status(stack, "UPDATE_IN_PROGRESS", "CancelUpdateStack")
            self._deployments[stack.arn].cancel()

    def continue_roll_back(
        self, region: str, name: str, skipped: Collection[str]
    ) -> threading.Thread:
        """Resume a failed rollback without the resources to skip."""
        with self.lock:
            stack = self.stacks.find(region, name)
            require_status(stack, "UPDATE_ROLLBACK_FAILED", "ContinueUpdateRollback")
            deployment = self._deployments[stack.arn]
            return self._start(stack, lambda: deployment.continue_roll_back(skipped))

    def drifts(self, stack: Stack, wanted: Collection[str]) -> list[Drift]:
        """Detect drift of a stack's resources: all, or those with the given logical ids."""
        with self.lock:
            require_idle(stack)
            attached = {resource.physical_id for resource in stack.resources.values()}
            names = wanted or stack.resources.keys()
            resources = [stack.resources[name] for name in names if name in stack.resources]
        provisioner = self._provisioner(stack)
        return [drift_of(resource, provisioner, attached) for resource in resources]

    def delete_stack(
        self, region: str, name_or_arn: str, request: DeletionRequest = STANDARD_DELETION
    ) -> threading.Thread:
        """Start the deletion of a stack; it waits for a running operation."""
        with self.lock:
            stack = self.stacks.find(region, name_or_arn)
            self._require_deletable(stack, request)
            running = self._operations.get(stack.arn) if stack.is_busy else None
            provisioner = self._provisioner(stack)

            def delete() -> None:
                if running is not None:
                    running.join()
                    stack.set_status("DELETE_IN_PROGRESS", "User Initiated")
                delete_stack(stack, provisioner, self.lock, request)

            if running is None:
                stack.set_status("DELETE_IN_PROGRESS", "User Initiated")
            return self._start(stack, delete)

    def _stack_for(self, region: str, request: ChangeSetRequest) -> Stack:
        named = (each for each in self.stacks.active(region) if each.name == request.stack_name)
        existing = next(named, None)
        if existing and existing.status == "REVIEW_IN_PROGRESS" and request.kind != "UPDATE":
            return existing
        if request.kind == "UPDATE" or (existing and request.kind == "IMPORT"):
            stack = self.stacks.find(region, request.stack_name)
            require_updatable(stack)
            return stack
        stack = self.stacks.add(request.stack_name, self._clients(region))
        stack.set_status("REVIEW_IN_PROGRESS", "User Initiated")
        return stack

    def _plan_or_drop(
        self, stack: Stack, request: ChangeSetRequest
    ) -> tuple[tuple[Change, ...], Mapping[str, str]]:
        """Plan; if that fails, remove a stack that was created for this request only."""
        try:
            changes = self._plan(stack, request.submission)
            aws = self._clients(stack.region)
            return with_imports(stack, request, changes, self.stacks, aws)
        except ServiceError:
            if stack.status == "REVIEW_IN_PROGRESS" and not stack.change_sets:
                self.stacks.drop(stack)
            raise

    def _plan(self, stack: Stack, submission: Submission) -> tuple[Change, ...]:
        return plan(stack, submission, self._neighbourhood(stack), self._clients(stack.region))

    def _deploy(
        self, stack: Stack, submission: Submission, kind: str, imports: Mapping[str, str]
    ) -> threading.Thread:
        neighbourhood = self._neighbourhood(stack)
        scope = scope_of(stack, submission, neighbourhood, self._clients(stack.region))
        provisioner = self._provisioner(stack)
        deployment = Deployment(
            stack, submission, neighbourhood, scope, provisioner, self.lock, imports
        )
        self._deployments[stack.arn] = deployment
        operations = {
            "CREATE": deployment.create,
            "IMPORT": deployment.take_in,
            "UPDATE": deployment.update,
        }

        stack.set_status(f"{kind}_IN_PROGRESS", "User Initiated")
        return self._start(stack, operations[kind])

    def _start(self, stack: Stack, work: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - a thread's last resort
                _log.exception("internal error in an operation on stack %s", stack.name)
                status = BROKEN[stack.status.split("_")[0]]
                with self.lock:
                    stack.set_status(status, f"Internal error of the embedded AWS: {error!r}")

        thread = threading.Thread(target=run, name=f"stack-{stack.name}", daemon=True)
        self._operations[stack.arn] = thread
        thread.start()
        return thread

    def _provisioner(self, stack: Stack) -> Provisioner:
        return Provisioner(stack, self._clients(stack.region), self.lock)

    def _neighbourhood(self, stack: Stack) -> Neighbourhood:
        return Neighbourhood(self.stacks, stack, self._zones)

    def _zones(self, region: str) -> list[str]:
        zones = self._clients(region).ec2.describe_availability_zones()["AvailabilityZones"]
        return [zone["ZoneName"] for zone in zones]

    def _require_deletable(self, stack: Stack, request: DeletionRequest) -> None:
        require_deletable(stack, request)
        for export, importer in self.stacks.importers(stack):
            raise validation_error(
                f"Export {export} cannot be deleted as it is in use by {importer}"
            )


_HOST_OF_BUCKET: Final = re.compile(r"(?P<bucket>.+)\.(s3[.-].*|localhost)")


def object_of(url: str) -> tuple[str, str]:
    """Return bucket and key: https://host/bucket/key, or https://bucket.s3.region.host/key.

    Source: S3 user guide, "Virtual hosting of general purpose buckets".
    """
    parts = urlparse(url)
    path = unquote(parts.path.removeprefix("/"))
    match = _HOST_OF_BUCKET.fullmatch(parts.hostname or "")
    if match:
        return match["bucket"], path
    bucket, _, key = path.partition("/")
    return bucket, key
