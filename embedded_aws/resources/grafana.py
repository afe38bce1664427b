"""AWS::Grafana::Workspace, which replaces Grafana here (see `embedded_aws.grafana`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from embedded_aws.errors import suppressed
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
"""Properties and their names in CreateWorkspace."""

_CHANGED = frozenset(_NAMES.values()) - {"authenticationProviders", "grafanaVersion"}
"""Those that UpdateWorkspace accepts."""


class Workspace(Provider):
    """A workspace; Ref gives its id."""

    type = "AWS::Grafana::Workspace"
    supported = frozenset({*_NAMES, "PluginAdminEnabled", "Tags"})
    in_place = supported

    def create(self, request: ResourceRequest) -> str:
        """Create the workspace."""
        _check(request)
        made = request.aws.service("grafana").create_workspace(**_arguments(request))
        return str(made["workspace"]["id"])

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Return its endpoint: in AWS a host, here a port of this computer and a path."""
        asked = request.aws.service("grafana").describe_workspace(workspaceId=physical_id)
        return {
            "Endpoint": asked["workspace"]["endpoint"],
            "GrafanaVersion": request.properties.get("GrafanaVersion", ""),
            "Id": physical_id,
            "Status": "ACTIVE",
        }

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Update it; versions can only be raised (API reference, UpdateWorkspaceConfiguration)."""
        _check(request)
        old, new = (_version(each) for each in (previous, request.properties))
        if new < old:
            raise ProviderError("The version of a Grafana workspace cannot be lowered.")
        changed = {name: value for name, value in _arguments(request).items() if name in _CHANGED}
        request.aws.service("grafana").update_workspace(workspaceId=physical_id, **changed)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete it with its contents."""
        with suppressed("ResourceNotFoundException"):
            request.aws.service("grafana").delete_workspace(workspaceId=physical_id)


def _arguments(request: ResourceRequest) -> dict[str, Any]:
    return {_NAMES[name]: value for name, value in request.given(*_NAMES).items()}


def _check(request: ResourceRequest) -> None:
    """Check the arguments of CreateWorkspace, and that the role exists."""
    require_valid("grafana", "CreateWorkspace", _arguments(request))
    role = str(request.properties.get("RoleArn", ""))
    if role:
        request.aws.iam.get_role(RoleName=role.rpartition("/")[2])


def _version(properties: Mapping[str, Any]) -> list[int]:
    return [int(part) for part in str(properties.get("GrafanaVersion", "0")).split(".")]
