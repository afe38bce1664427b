"""AWS::Grafana::Workspace. There is no Grafana here: the request is checked and gets an id."""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any

from embedded_aws.ids import ids
from embedded_aws.resources.api_resource import require_valid
from embedded_aws.resources.provider import Provider, ProviderError, ResourceRequest

_NAMES = {
    "AccountAccessType": "accountAccessType",
    "AuthenticationProviders": "authenticationProviders",
    "DataSources": "workspaceDataSources",
    "Description": "workspaceDescription",
    "GrafanaVersion": "grafanaVersion",
    "Name": "workspaceName",
    "PermissionType": "permissionType",
    "RoleArn": "workspaceRoleArn",
}
"""Properties, and what CreateWorkspace calls them."""


class Workspace(Provider):
    """A workspace; Ref gives its id."""

    type = "AWS::Grafana::Workspace"
    supported = frozenset({*_NAMES, "PluginAdminEnabled", "Tags"})
    in_place = supported

    def create(self, request: ResourceRequest) -> str:
        """Check the request and make up an id."""
        _check(request)
        return f"g-{ids.text('grafana', 10, string.hexdigits[:16])}"

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Return the address that it would have."""
        region = request.aws.region
        return {
            "Endpoint": f"{physical_id}.grafana-workspace.{region}.{request.aws.dns_suffix}",
            "GrafanaVersion": request.properties.get("GrafanaVersion", ""),
            "Id": physical_id,
            "Status": "ACTIVE",
        }

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Check the request; versions go up only (API reference, UpdateWorkspaceConfiguration)."""
        _check(request)
        old, new = (_version(each) for each in (previous, request.properties))
        if new < old:
            raise ProviderError("The version of a Grafana workspace cannot be lowered.")

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Do nothing: there is only the id."""


def _check(request: ResourceRequest) -> None:
    """Refuse what CreateWorkspace refuses, and a role that there is not."""
    arguments = {_NAMES[name]: value for name, value in request.given(*_NAMES).items()}
    require_valid("grafana", "CreateWorkspace", arguments)
    role = str(request.properties.get("RoleArn", ""))
    if role:
        request.aws.iam.get_role(RoleName=role.rpartition("/")[2])


def _version(properties: Mapping[str, Any]) -> list[int]:
    return [int(part) for part in str(properties.get("GrafanaVersion", "0")).split(".")]
