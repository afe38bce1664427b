"""Operations on single resources of one stack, with every step reported as a stack event."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from threading import RLock
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from embedded_aws.clients import Clients
from embedded_aws.cloudformation.dynamic_references import with_values
from embedded_aws.cloudformation.stack import Stack, StackResource
from embedded_aws.resources import registry, schemas
from embedded_aws.resources.provider import Provider, ProviderError, ResourceRequest
from embedded_aws.resources.registry import provider_for
from embedded_aws.templates.template import ResourceDefinition, TemplateError, dependencies

_GONE: Final = re.compile(r"NotFound|NotAttached|NonExistent|NoSuch|DoesNotExist|^InvalidDocument$")
"""Parts of the error codes with which services report a missing resource."""

_log = logging.getLogger(__name__)


class ResourceFailed(Exception):
    """A resource could not be brought to its new state; its reason is in the stack's events."""

    def __init__(self, resource: StackResource) -> None:
        super().__init__(resource.reason)
        self.logical_id = resource.logical_id
        self.verb = resource.status.split("_")[0].lower()
        """The action that failed: create, update, import or delete."""


class Provisioner:
    """Creates, updates and deletes resources of one stack during one operation.

    Providers run without the lock, because they may take long and call the services.
    """

    def __init__(self, stack: Stack, aws: Clients, lock: RLock) -> None:
        self._stack = stack
        self._aws = aws
        self._lock = lock

    def create(self, definition: ResourceDefinition, properties: Mapping[str, Any]) -> None:
        """Create a resource and add it to the stack, even if its creation fails."""
        resource = _new_resource(definition, properties)
        with self._lock:
            self._stack.resources[definition.logical_id] = resource
        self._set(resource, "CREATE_IN_PROGRESS")
        provider = _provider(resource)

        def steps() -> None:
            request = self.request_with_values(resource)
            resource.physical_id = provider.create(request)
            self._set(resource, "CREATE_IN_PROGRESS", "Resource creation Initiated")
            provider.complete(request, resource.physical_id)
            resource.attributes = provider.attributes(request, resource.physical_id)

        self._attempt(resource, "CREATE_FAILED", steps)
        self._set(resource, "CREATE_COMPLETE")

    def adopt(
        self, definition: ResourceDefinition, properties: Mapping[str, Any], physical_id: str
    ) -> None:
        """Add an existing resource to the stack without changing it."""
        resource = _new_resource(definition, properties)
        with self._lock:
            self._stack.resources[definition.logical_id] = resource
        resource.physical_id = physical_id
        self._set(resource, "IMPORT_IN_PROGRESS", "Resource import started.")
        request, provider = self._request(resource), _provider(resource)

        def steps() -> None:
            registry.require_existing(self._aws, definition.type, physical_id)
            resource.attributes = provider.attributes(request, physical_id)

        self._attempt(resource, "IMPORT_FAILED", steps)
        self._set(resource, "IMPORT_COMPLETE", "Resource import completed.")

    def refuse(self, definition: ResourceDefinition, reason: str) -> ResourceFailed:
        """Report that the operation on a resource cannot start, and return that as an error."""
        known = self._stack.resources.get(definition.logical_id)
        resource = known or _new_resource(definition, {})
        self._set(resource, "CREATE_FAILED" if known is None else "UPDATE_FAILED", reason)
        return ResourceFailed(resource)

    def update(self, resource: StackResource, properties: Mapping[str, Any]) -> None:
        """Update a resource in place to `properties`."""
        self._set(resource, "UPDATE_IN_PROGRESS")
        previous, resource.properties = resource.properties, properties
        provider = _provider(resource)

        def steps() -> None:
            request = self.request_with_values(resource)
            before = self._with_values(resource.type, previous)
            provider.update(request, resource.physical_id, before)
            resource.physical_id = provider.id_after_update(request, resource.physical_id)
            resource.attributes = provider.attributes(request, resource.physical_id)

        self._attempt(resource, "UPDATE_FAILED", steps)
        self._set(resource, "UPDATE_COMPLETE")

    def delete(self, resource: StackResource) -> None:
        """Delete a resource, unless it was never created or is gone already."""
        self._set(resource, "DELETE_IN_PROGRESS")
        request, provider = self._request(resource), _provider(resource)

        def steps() -> None:
            try:
                if resource.physical_id and resource.deletion_policy == "Snapshot":
                    provider.delete_with_snapshot(request, resource.physical_id)
                elif resource.physical_id:
                    provider.delete(request, resource.physical_id)
            except ClientError as error:
                if not is_gone(error):
                    raise

        self._attempt(resource, "DELETE_FAILED", steps)
        self._set(resource, "DELETE_COMPLETE")
        self._forget(resource)

    def skip(self, resource: StackResource) -> None:
        """Remove a resource from the stack without deleting it."""
        self._set(resource, "DELETE_SKIPPED")
        self._forget(resource)

    def restore(self, resource: StackResource) -> None:
        """Put a replaced resource back into the stack in place of its replacement."""
        with self._lock:
            self._stack.resources[resource.logical_id] = resource
        self._set(resource, "UPDATE_COMPLETE")

    def give_up(self, resource: StackResource) -> None:
        """Leave a resource as it is, and report its rollback as complete."""
        self._set(resource, "UPDATE_COMPLETE")

    def abandon(self, resource: StackResource) -> None:
        """Remove a resource that could not be deleted from the stack, as CloudFormation does."""
        self._forget(resource)

    def _forget(self, resource: StackResource) -> None:
        with self._lock:
            if self._stack.resources.get(resource.logical_id) is resource:
                del self._stack.resources[resource.logical_id]
                self._stack.former[resource.logical_id] = resource

    def _attempt(self, resource: StackResource, failure: str, steps: Callable[[], None]) -> None:
        try:
            steps()
        except (BotoCoreError, ClientError, ProviderError, TemplateError) as error:
            self._set(resource, failure, _reason(error))
            raise ResourceFailed(resource) from error
        except Exception as error:
            _log.exception("internal error at %s (%s)", resource.logical_id, resource.type)
            self._set(resource, failure, f"Internal error of the embedded AWS: {error!r}")
            raise ResourceFailed(resource) from error

    def _set(self, resource: StackResource, status: str, reason: str = "") -> None:
        with self._lock:
            self._stack.set_resource_status(resource, status, reason)

    def request_with_values(self, resource: StackResource) -> ResourceRequest:
        """Return the request with its dynamic references resolved."""
        properties = self._with_values(resource.type, resource.properties)
        return replace(self._request(resource), properties=properties)

    def _with_values(self, kind: str, properties: Mapping[str, Any]) -> Mapping[str, Any]:
        return schemas.coerced(kind, with_values(properties, self._aws))

    def _request(self, resource: StackResource) -> ResourceRequest:
        return ResourceRequest(
            logical_id=resource.logical_id,
            type=resource.type,
            properties=resource.properties,
            stack_name=self._stack.name,
            aws=self._aws,
            stack_id=self._stack.arn,
        )


def _provider(resource: StackResource) -> Provider:
    return provider_for(resource.logical_id, resource.type)


def _reason(error: Exception) -> str:
    """Return a service's error message with the call and the error code."""
    if not isinstance(error, ClientError):
        return str(error)
    details = error.response["Error"]
    return f"{details['Message']} ({error.operation_name}: {details['Code']})"


def is_gone(error: ClientError) -> bool:
    """Return whether a service reported that the resource does not exist."""
    return bool(_GONE.search(error.response["Error"]["Code"]))


def _new_resource(definition: ResourceDefinition, properties: Mapping[str, Any]) -> StackResource:
    return StackResource(
        logical_id=definition.logical_id,
        type=definition.type,
        properties=properties,
        deletion_policy=definition.deletion_policy,
        needs=frozenset(dependencies(definition)),
    )
