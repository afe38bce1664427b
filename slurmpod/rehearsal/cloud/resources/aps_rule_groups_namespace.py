"""AWS::APS::RuleGroupsNamespace: a rules file of a Prometheus workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from slurmpod.rehearsal.cloud.resources.aps_workspace import retag
from slurmpod.rehearsal.cloud.resources.provider import Provider, ProviderError, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping


class RuleGroupsNamespace(Provider):
    """A rules file; Ref gives its ARN."""

    type = "AWS::APS::RuleGroupsNamespace"
    supported = frozenset({"Data", "Name", "Tags", "Workspace"})
    in_place = frozenset({"Data", "Tags"})

    def create(self, request: ResourceRequest) -> str:
        """Create the namespace."""
        tags = {tag["Key"]: tag["Value"] for tag in request.properties.get("Tags", [])}
        answer = request.aws.service("amp").create_rule_groups_namespace(
            **_arguments(request.properties), tags=tags
        )
        return str(answer["arn"])

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the ARN."""
        return {"Arn": physical_id}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Put the file anew, and set the tags."""
        amp = request.aws.service("amp")
        amp.put_rule_groups_namespace(**_arguments(request.properties))
        retag(request, physical_id, previous)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:  # noqa: ARG002
        """Delete the namespace."""
        arguments = _arguments(request.properties)
        request.aws.service("amp").delete_rule_groups_namespace(
            name=arguments["name"], workspaceId=arguments["workspaceId"]
        )


def _arguments(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the API; raises ProviderError for what is no rules file."""
    data = str(properties["Data"])
    try:
        names = [group["name"] for group in yaml.safe_load(data)["groups"]]
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise ProviderError(f"error validating rule groups: {error!r}") from None
    if len(names) != len(set(names)):
        raise ProviderError("error validating rule groups: a group's name is there twice")
    workspace = str(properties["Workspace"]).rpartition("/")[2]
    return {"name": properties["Name"], "workspaceId": workspace, "data": data.encode()}
