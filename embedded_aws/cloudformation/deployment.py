"""Deployments of a stack, their rollback, and its deletion.

Every step records an undo; a rollback runs them newest first. Resources that the deployment no
longer needs are deleted only after everything else has succeeded, so that a failed update still
has its old resources.

Deletion policies: `Retain` keeps a resource also when the operation that created it is rolled
back, `RetainExceptOnCreate` does not (AWS announcement of RetainExceptOnCreate, 2023-07-31:
"Retain also preserves resources that are deleted from stacks before serving traffic, such as the
resources that are deleted immediately after creation during rollbacks").

Dependents are deleted first. A resource that cannot be deleted keeps only its dependencies; all
others are still deleted (CloudFormation API reference, DeleteStack).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from threading import Event, RLock
from typing import Any

from embedded_aws.cloudformation.changes import active_resources, resolve_properties, update_problem
from embedded_aws.cloudformation.exports import Neighbourhood
from embedded_aws.cloudformation.provisioner import Provisioner, ResourceFailed
from embedded_aws.cloudformation.stack import DeletionRequest, Stack, StackResource, Submission
from embedded_aws.resources.registry import provider_for
from embedded_aws.resources.schemas import changed_properties
from embedded_aws.templates.intrinsics import Resolver, StackScope
from embedded_aws.templates.template import (
    RETAINING,
    ResourceDefinition,
    TemplateError,
    creation_order,
    dependencies,
)

_log = logging.getLogger(__name__)


class Deployment:
    """One creation or update of a stack that is already `..._IN_PROGRESS`.

    `scope` must see the stack's live resources, and other stacks through `neighbourhood`.
    `imports` are the physical ids of existing resources that the stack adopts, by logical id.
    """

    def __init__(
        self,
        stack: Stack,
        submission: Submission,
        neighbourhood: Neighbourhood,
        scope: StackScope,
        provisioner: Provisioner,
        lock: RLock,
        imports: Mapping[str, str],
    ) -> None:
        self._stack = stack
        self._submission = submission
        self._imports = imports
        self._neighbourhood = neighbourhood
        self._used_before = stack.imports
        """The exports of other stacks that the stack uses again after a rollback."""
        self._scope = scope
        self._provisioner = provisioner
        self._lock = lock
        self._undo: list[tuple[str, Callable[[], None]]] = []
        self._superseded: dict[str, tuple[StackResource, str]] = {}
        """Resources that this deployment no longer needs, with their policies, by logical id."""
        self._is_cancelled = Event()

    def create(self) -> None:
        """Create all resources; on failure, delete all except retained and undeletable ones."""
        self._stack.submission = self._submission
        reason = self._failure()
        if reason is not None:
            self._roll_back_creation(reason)
            return
        self._end("CREATE_COMPLETE", self._neighbourhood.imported)

    def update(self) -> None:
        """Create, change and delete what differs, or roll everything back."""
        reason = self._failure()
        if reason is not None:
            self._roll_back("UPDATE_ROLLBACK", reason)
            return
        with self._lock:
            old = self._stack.submission
            self._stack.submission = self._submission
        self._set_status("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS")
        self._delete_superseded(old)
        self._adopt_definitions()
        self._end("UPDATE_COMPLETE", self._neighbourhood.imported)

    def cancel(self) -> None:
        """Stop an update after the current resource, and roll back."""
        self._is_cancelled.set()

    def continue_roll_back(self, skipped: Collection[str]) -> None:
        """Resume a failed rollback of an update, without the `skipped` logical ids."""
        for name, _ in self._undo:
            if name in skipped:
                self._provisioner.give_up(self._stack.resources[name])
        self._undo = [(name, undo) for name, undo in self._undo if name not in skipped]
        self._roll_back("UPDATE_ROLLBACK", "User Initiated")

    def take_in(self) -> None:
        """Import the resources into the stack, or leave the stack as it was."""
        reason = self._failure()
        if reason is not None:
            self._roll_back("IMPORT_ROLLBACK", reason)
            return
        with self._lock:
            self._stack.submission = self._submission
        self._end("IMPORT_COMPLETE", self._neighbourhood.imported)

    def _failure(self) -> str | None:
        """Deploy the submission; return why that failed, if it did."""
        try:
            self._apply()
        except ResourceFailed as error:
            return (
                f"The following resource(s) failed to {error.verb}: [{error.logical_id}]. "
                "Rollback requested by user."
            )
        except TemplateError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 - nothing is left behind, whatever it was
            _log.exception("internal error in a deployment of stack %s", self._stack.name)
            return f"Internal error of the embedded AWS: {error!r}"
        return None

    def _apply(self) -> None:
        for definition in active_resources(self._submission.template, self._scope).values():
            if self._is_cancelled.is_set():
                raise TemplateError("User Initiated")
            self._deploy(definition)
        with self._lock:
            outputs, exports = self._outputs()
            self._stack.imports |= self._neighbourhood.imported
            self._neighbourhood.check_exports(exports)
            self._stack.outputs, self._stack.exports = outputs, exports
            self._stack.resolved_parameters = self._scope.parameters

    def _deploy(self, definition: ResourceDefinition) -> None:
        name = definition.logical_id
        resource = self._stack.resources.get(name)
        try:
            properties = self._properties(definition)
        except TemplateError as error:
            raise self._provisioner.refuse(definition, str(error)) from error
        if resource is None and name in self._imports:
            self._undo.append((name, partial(self._let_go, name)))
            self._provisioner.adopt(definition, properties, self._imports[name])
        elif resource is None:
            self._undo.append((name, partial(self._discard, name)))
            self._provisioner.create(definition, properties)
        elif provider_for(name, definition.type).replaces(resource.properties, properties):
            self._undo.append((name, partial(self._take_back, resource)))
            self._superseded[name] = (resource, definition.update_replace_policy)
            self._provisioner.create(definition, properties)
        else:
            self._update(resource, definition, properties)

    def _properties(self, definition: ResourceDefinition) -> dict[str, Any]:
        """Resolve a resource's properties, and mark the exports among them as in use."""
        with self._lock:
            resolver = Resolver(self._scope)
            properties = resolve_properties(definition, resolver, self._submission.tags)
            self._stack.imports |= self._neighbourhood.imported
            return properties

    def _update(
        self,
        resource: StackResource,
        definition: ResourceDefinition,
        properties: Mapping[str, Any],
    ) -> None:
        provider = provider_for(definition.logical_id, definition.type)
        if changed_properties(resource.properties, properties) or provider.is_always_updated:
            problem = update_problem(definition, resource.properties, properties)
            if problem:
                raise self._provisioner.refuse(definition, problem)
            before = replace(resource)
            undo = partial(self._change_back, resource, before.properties)
            self._undo.append((definition.logical_id, undo))
            self._provisioner.update(resource, properties)
            if resource.physical_id != before.physical_id:
                superseded = (before, definition.update_replace_policy)
                self._superseded[definition.logical_id] = superseded

    def _outputs(self) -> tuple[dict[str, str], dict[str, str]]:
        resolver = Resolver(self._scope)
        outputs, exports = {}, {}
        for name, output in self._submission.template.section("Outputs").items():
            if "Condition" in output and not self._scope.condition(output["Condition"]):
                continue
            outputs[name] = str(resolver.resolve(output["Value"]))
            if "Export" in output:
                exports[resolver.resolve(output["Export"]["Name"])] = outputs[name]
        return outputs, exports

    def _roll_back_creation(self, reason: str) -> None:
        """Delete created resources; imported ones are kept."""

        def is_kept(resource: StackResource) -> bool:
            if resource.logical_id in self._imports:
                return True
            return resource.deletion_policy == "Retain" and bool(resource.physical_id)

        self._set_status("ROLLBACK_IN_PROGRESS", reason)
        failed = remove_all(self._stack, self._provisioner, is_kept)
        if failed:
            self._set_status("ROLLBACK_FAILED", failure_text(failed))
        else:
            self._end("ROLLBACK_COMPLETE", self._used_before)

    def _roll_back(self, prefix: str, reason: str) -> None:
        self._set_status(f"{prefix}_IN_PROGRESS", reason)
        try:
            while self._undo:
                self._undo[-1][1]()
                self._undo.pop()
        except ResourceFailed as error:
            self._set_status(f"{prefix}_FAILED", f"{error.logical_id}: {error}")
            return
        self._end(f"{prefix}_COMPLETE", self._used_before)

    def _discard(self, logical_id: str) -> None:
        resource = self._stack.resources[logical_id]
        if resource.deletion_policy == "Retain" and resource.physical_id:
            self._provisioner.skip(resource)
        else:
            self._provisioner.delete(resource)

    def _let_go(self, logical_id: str) -> None:
        self._provisioner.skip(self._stack.resources[logical_id])

    def _change_back(self, resource: StackResource, properties: Mapping[str, Any]) -> None:
        """Undo an update; if it had put another resource in place, delete that one."""
        meanwhile = replace(resource)
        try:
            self._provisioner.update(resource, properties)
        except ResourceFailed:
            resource.properties = meanwhile.properties  # the starting point of another attempt
            raise
        if resource.physical_id != meanwhile.physical_id:
            self._provisioner.delete(meanwhile)

    def _take_back(self, replaced: StackResource) -> None:
        self._discard(replaced.logical_id)
        self._provisioner.restore(replaced)

    def _delete_superseded(self, old: Submission) -> None:
        wanted = active_resources(self._submission.template, self._scope)
        for name, resource in self._stack.resources.items():
            if name not in wanted:
                self._superseded[name] = (resource, resource.deletion_policy)
        for name in deletion_order(self._superseded, old):
            resource, policy = self._superseded[name]
            try:
                _remove(self._provisioner, resource, policy)
            except ResourceFailed:
                self._provisioner.abandon(resource)

    def _adopt_definitions(self) -> None:
        """Take over what the new template says about the later deletion of remaining resources."""
        for definition in active_resources(self._submission.template, self._scope).values():
            resource = self._stack.resources[definition.logical_id]
            resource.deletion_policy = definition.deletion_policy
            resource.needs = frozenset(dependencies(definition))

    def _end(self, status: str, used: frozenset[str]) -> None:
        """End successfully; from now on the stack uses exactly these exports."""
        with self._lock:
            self._stack.imports = used
            self._stack.set_status(status)

    def _set_status(self, status: str, reason: str = "") -> None:
        with self._lock:
            self._stack.set_status(status, reason)


def _remove(provisioner: Provisioner, resource: StackResource, policy: str) -> None:
    """Delete a resource unless its policy retains it."""
    if policy in RETAINING:
        provisioner.skip(resource)
    else:
        provisioner.delete(resource)


def delete_stack(
    stack: Stack, provisioner: Provisioner, lock: RLock, request: DeletionRequest
) -> None:
    """Delete a stack's resources except retained ones."""

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
    """Delete or retain every resource of a stack; return those that could not be deleted."""
    failed: list[str] = []
    for name in deletion_order(stack.resources, stack.submission):
        resource = stack.resources[name]
        if is_kept(resource):
            provisioner.skip(resource)
        elif not any(name in other.needs for other in stack.resources.values()):
            try:
                provisioner.delete(resource)
            except ResourceFailed:
                if is_forced:
                    provisioner.skip(resource)
                else:
                    failed.append(resource.logical_id)
    return failed


def deletion_order(logical_ids: Collection[str], submission: Submission) -> list[str]:
    """Return the logical ids, dependents first.

    Resources that a failed update could not delete come before those in the template.
    """
    order = creation_order(submission.template.resources)
    others = [name for name in logical_ids if name not in order]
    return [name for name in reversed([*order, *others]) if name in logical_ids]


def failure_text(failed: Collection[str]) -> str:
    """Return CloudFormation's message about resources that could not be deleted."""
    return f"The following resource(s) failed to delete: [{', '.join(sorted(failed))}]. "
