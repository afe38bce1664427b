"""AWS::APS::Workspace: a workspace of Amazon Managed Service for Prometheus.

moto keeps it, but for what it was told of alerts and retention. Its address is one that nodes of
the rehearsal reach; whether anything answers there is up to the rehearsal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import yaml

from slurmpod.rehearsal.cloud.constraints import summary, violations
from slurmpod.rehearsal.cloud.resources.provider import Provider, ProviderError, ResourceRequest
from slurmpod.rehearsal.cloud.resources.tags import tag_changes
from slurmpod.rehearsal.nodes.enclosure import DOOR_ADDRESS

if TYPE_CHECKING:
    from collections.abc import Mapping

_CONFIGURATION = {"RetentionPeriodInDays": "retentionPeriodInDays"}


class Workspace(Provider):
    """A workspace; Ref gives its ARN."""

    type = "AWS::APS::Workspace"
    supported = frozenset(
        {
            "AlertManagerDefinition",
            "Alias",
            "KmsKeyArn",
            "LoggingConfiguration",
            "Tags",
            "WorkspaceConfiguration",
        }
    )
    in_place = supported - {"KmsKeyArn"}

    def create(self, request: ResourceRequest) -> str:
        """Create the workspace."""
        _check(request.properties)
        tags = {tag["Key"]: tag["Value"] for tag in request.properties.get("Tags", [])}
        alias = request.properties.get("Alias", "")
        amp = request.aws.service("amp")
        return str(amp.create_workspace(alias=alias, tags=tags)["arn"])

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Say where it logs to."""
        arn = request.properties.get("LoggingConfiguration", {}).get("LogGroupArn")
        if arn:
            request.aws.service("amp").create_logging_configuration(
                workspaceId=_id(physical_id), logGroupArn=arn
            )

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Return where it is, for nodes."""
        port = urlsplit(request.aws.endpoint).port
        return {
            "Arn": physical_id,
            "PrometheusEndpoint": f"http://{DOOR_ADDRESS}:{port}/workspaces/{_id(physical_id)}/",
            "WorkspaceId": _id(physical_id),
        }

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Change alias, logging and tags; moto keeps nothing else."""
        _check(request.properties)
        amp, workspace = request.aws.service("amp"), _id(physical_id)
        amp.update_workspace_alias(workspaceId=workspace, alias=request.properties.get("Alias", ""))
        if previous.get("LoggingConfiguration"):
            amp.delete_logging_configuration(workspaceId=workspace)
        self.complete(request, physical_id)
        retag(request, physical_id, previous)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the workspace."""
        request.aws.service("amp").delete_workspace(workspaceId=_id(physical_id))


def retag(request: ResourceRequest, arn: str, previous: Mapping[str, Any]) -> None:
    """Make the tags of a resource of this service those of the request."""
    amp = request.aws.service("amp")
    gone, tags = tag_changes(previous, request.properties)
    if gone:
        amp.untag_resource(resourceArn=arn, tagKeys=gone)
    if tags:
        amp.tag_resource(resourceArn=arn, tags={tag["Key"]: tag["Value"] for tag in tags})


def _check(properties: Mapping[str, Any]) -> None:
    """Refuse what the service refuses: its limits, and an alert manager without configuration."""
    settings = properties.get("WorkspaceConfiguration", {})
    arguments = {
        _CONFIGURATION[name]: settings[name] for name in _CONFIGURATION if name in settings
    }
    problems = violations(
        "amp", "UpdateWorkspaceConfiguration", {"workspaceId": "ws-0", **arguments}
    )
    if problems:
        raise ProviderError(summary(problems))
    definition = properties.get("AlertManagerDefinition")
    if definition is not None:
        _check_alert_manager(definition)
    logs = properties.get("LoggingConfiguration", {}).get("LogGroupArn", ":*")
    if not logs.endswith(":*"):
        raise ProviderError(f"LogGroupArn must end with ':*': {logs}")


def _check_alert_manager(definition: str) -> None:
    """Refuse a definition whose routes lead to receivers that it lacks."""
    try:
        configuration = yaml.safe_load(yaml.safe_load(definition)["alertmanager_config"])
        receivers = {receiver["name"] for receiver in configuration["receivers"]}
        route = configuration["route"]
        wanted = {route["receiver"], *(each["receiver"] for each in route.get("routes", []))}
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise ProviderError(f"error validating Alert Manager Definition: {error!r}") from None
    if missing := sorted(wanted - receivers):
        raise ProviderError(f"undefined receivers used in route: {', '.join(missing)}")


def _id(arn: str) -> str:
    return arn.rpartition("/")[2]
