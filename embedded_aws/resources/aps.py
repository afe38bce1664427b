"""Amazon Managed Service for Prometheus: workspaces and their rules files.

moto stores workspaces without their settings for alerts and retention. Nodes of the rehearsal can
reach a workspace's address; whether a server answers there is up to the rehearsal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import yaml

from embedded_aws.resources.api_resource import ApiResource, DescribeCall, require_valid
from embedded_aws.resources.provider import ProviderError, ResourceRequest
from embedded_aws.resources.tags import Tagging

_TAGGING = Tagging("resourceArn", keys="tagKeys", tags="tags", write=dict)


class Workspace(ApiResource):
    """A workspace; Ref gives its ARN."""

    type = "AWS::APS::Workspace"
    apart = frozenset(
        {"AlertManagerDefinition", "KmsKeyArn", "LoggingConfiguration", "WorkspaceConfiguration"}
    )
    supported = apart | {"Alias", "Tags"}
    in_place = supported - {"KmsKeyArn"}
    renamed: ClassVar = {"Alias": "alias"}
    service = "amp"
    creation, deletion = "create_workspace", "delete_workspace"
    answer = ("arn",)
    described_by = DescribeCall("list_tags_for_resource", "resourceArn")
    tagging = _TAGGING
    tags_at_creation = "tags"

    def create(self, request: ResourceRequest) -> str:
        """Create the workspace."""
        _check(request.properties)
        return super().create(request)

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Set the logging configuration."""
        arn = request.properties.get("LoggingConfiguration", {}).get("LogGroupArn")
        if arn:
            arguments = {"workspaceId": _id(physical_id), "logGroupArn": arn}
            self.call(request, "create_logging_configuration", arguments)

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Return its ARN and its endpoint for nodes."""
        return {
            "Arn": physical_id,
            "PrometheusEndpoint": f"{request.aws.node_endpoint}/workspaces/{_id(physical_id)}/",
            "WorkspaceId": _id(physical_id),
        }

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Change alias, logging and tags; moto stores nothing else."""
        _check(request.properties)
        workspace = {"workspaceId": _id(physical_id)}
        alias = request.properties.get("Alias", "")
        self.call(request, "update_workspace_alias", {**workspace, "alias": alias})
        if previous.get("LoggingConfiguration"):
            self.call(request, "delete_logging_configuration", workspace)
        super().update(request, physical_id, previous)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the workspace."""
        self.call(request, self.deletion, {"workspaceId": _id(physical_id)})


class RuleGroupsNamespace(ApiResource):
    """A rules file of a workspace; Ref gives its ARN."""

    type = "AWS::APS::RuleGroupsNamespace"
    supported = frozenset({"Data", "Name", "Tags", "Workspace"})
    in_place = frozenset({"Data", "Tags"})
    service = "amp"
    creation, deletion = "create_rule_groups_namespace", "delete_rule_groups_namespace"
    answer = ("arn",)
    id_attributes = ("Arn",)
    tagging = _TAGGING
    tags_at_creation = "tags"

    def written(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the API; raises ProviderError for an invalid rules file."""
        data = str(properties["Data"])
        _check_rules(data)
        return {**_names(properties), "data": data.encode()}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Put the file again, and set the tags."""
        self.call(request, "put_rule_groups_namespace", self.written(request.properties))
        super().update(request, physical_id, previous)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the namespace."""
        self.call(request, self.deletion, _names(request.properties))


def _check(properties: Mapping[str, Any]) -> None:
    """Refuse exceeded limits and an alert manager without configuration."""
    settings = properties.get("WorkspaceConfiguration", {})
    days = settings.get("RetentionPeriodInDays")
    arguments = {} if days is None else {"retentionPeriodInDays": days}
    require_valid("amp", "UpdateWorkspaceConfiguration", {"workspaceId": "ws-0", **arguments})
    definition = properties.get("AlertManagerDefinition")
    if definition is not None:
        _check_alert_manager(definition)
    logs = properties.get("LoggingConfiguration", {}).get("LogGroupArn", ":*")
    if not logs.endswith(":*"):
        raise ProviderError(f"LogGroupArn must end with ':*': {logs}")


def _check_alert_manager(definition: str) -> None:
    """Refuse a definition whose routes name undefined receivers."""
    try:
        configuration = yaml.safe_load(yaml.safe_load(definition)["alertmanager_config"])
        receivers = {receiver["name"] for receiver in configuration["receivers"]}
        route = configuration["route"]
        wanted = {route["receiver"], *(each["receiver"] for each in route.get("routes", []))}
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise ProviderError(f"error validating Alert Manager Definition: {error!r}") from None
    if missing := sorted(wanted - receivers):
        raise ProviderError(f"undefined receivers used in route: {', '.join(missing)}")


def _check_rules(data: str) -> None:
    try:
        names = [group["name"] for group in yaml.safe_load(data)["groups"]]
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise ProviderError(f"error validating rule groups: {error!r}") from None
    if len(names) != len(set(names)):
        raise ProviderError("error validating rule groups: a group's name is there twice")


def _names(properties: Mapping[str, Any]) -> dict[str, str]:
    return {"name": properties["Name"], "workspaceId": _id(properties["Workspace"])}


def _id(arn: str) -> str:
    return arn.rpartition("/")[2]
