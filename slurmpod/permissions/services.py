"""Permissions of SageMaker services beside the cluster, each with a separate role.

They are not permissions of nodes, but a boundary must allow them, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from slurmpod.permissions.endpoint import ENDPOINT, endpoint_grants, endpoint_scope
from slurmpod.permissions.notebook import NOTEBOOK, notebook_grants, notebook_scope
from slurmpod.permissions.permission import Grant, Permission
from slurmpod.resolve import Resolved

SERVICES: Mapping[str, tuple[Permission[Any], ...]] = {
    "The endpoint": ENDPOINT,
    "The notebook instance": NOTEBOOK,
}
"""The permissions of each service's role, by service."""


def grants_of_services(resolved: Resolved) -> Iterator[Grant]:
    """Yield the permissions of services; ids that a deployment generates are wildcards."""
    if resolved.endpoint:
        scope = endpoint_scope(
            resolved, resolved.endpoint, subnet_ids=("*",), security_group_ids=("*",)
        )
        yield from endpoint_grants(scope)
    if resolved.notebook:
        yield from notebook_grants(
            notebook_scope(
                resolved,
                resolved.notebook,
                subnet_ids=("*",),
                security_group_ids=("*",),
                kms_key_arn=resolved.notebook.settings.kms_key_arn or resolved.arn("kms", "key/*"),
            )
        )
