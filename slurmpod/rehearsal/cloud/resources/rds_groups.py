"""AWS::RDS::DBSubnetGroup and AWS::RDS::DBParameterGroup: what a database server stands on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.api_resource import ApiResource
from slurmpod.rehearsal.cloud.resources.tags import tag_changes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.resources.provider import ResourceRequest

NAME_LIMIT = 255
PARAMETERS_PER_CALL = 20


class DbSubnetGroup(ApiResource):
    """The subnets in which RDS may put a server."""

    type = "AWS::RDS::DBSubnetGroup"
    supported = frozenset({"DBSubnetGroupDescription", "DBSubnetGroupName", "SubnetIds", "Tags"})
    in_place = supported - {"DBSubnetGroupName"}
    service = "rds"
    creation = "create_db_subnet_group"
    change = "modify_db_subnet_group"
    deletion = "delete_db_subnet_group"
    identity = "DBSubnetGroupName"

    def arguments(self, request: ResourceRequest) -> dict[str, Any]:
        """Return the properties, with a name."""
        return {"DBSubnetGroupName": _generated_name(request), **request.properties}

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Look up the ARN."""
        found = request.aws.service("rds").describe_db_subnet_groups(DBSubnetGroupName=physical_id)
        return {"DBSubnetGroupArn": found["DBSubnetGroups"][0]["DBSubnetGroupArn"]}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Change subnets and description, and set the tags anew."""
        super().update(request, physical_id, previous)
        retag(request, previous, self.attributes(request, physical_id)["DBSubnetGroupArn"])


class DbParameterGroup(ApiResource):
    """Parameters of a server; those that are not named are RDS's own."""

    type = "AWS::RDS::DBParameterGroup"
    supported = frozenset({"DBParameterGroupName", "Description", "Family", "Parameters", "Tags"})
    in_place = frozenset({"Parameters", "Tags"})
    service = "rds"
    creation = "create_db_parameter_group"
    deletion = "delete_db_parameter_group"
    identity = "DBParameterGroupName"

    def arguments(self, request: ResourceRequest) -> dict[str, Any]:
        """Return what makes the group, still without its parameters."""
        given = request.given("DBParameterGroupName", "Description", "Tags")
        family = request.properties["Family"]
        name = {"DBParameterGroupName": _generated_name(request)}
        return {**name, **given, "DBParameterGroupFamily": family}

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Set the parameters, as many in one call as RDS takes."""
        parameters = sorted(request.properties.get("Parameters", {}).items())
        for first in range(0, len(parameters), PARAMETERS_PER_CALL):
            some = parameters[first : first + PARAMETERS_PER_CALL]
            self.call(
                request,
                "modify_db_parameter_group",
                {
                    "DBParameterGroupName": physical_id,
                    "Parameters": [
                        {
                            "ParameterName": name,
                            "ParameterValue": str(value),
                            "ApplyMethod": "immediate",
                        }
                        for name, value in some
                    ],
                },
            )

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Look up the ARN."""
        found = request.aws.service("rds").describe_db_parameter_groups(
            DBParameterGroupName=physical_id
        )
        return {"DBParameterGroupArn": found["DBParameterGroups"][0]["DBParameterGroupArn"]}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Set the parameters and the tags anew; one that is gone has RDS's own value again."""
        gone = previous.get("Parameters", {}).keys() - request.properties.get("Parameters", {})
        if gone:
            reset = [{"ParameterName": name, "ApplyMethod": "immediate"} for name in sorted(gone)]
            arguments = {"DBParameterGroupName": physical_id, "Parameters": reset}
            self.call(request, "reset_db_parameter_group", arguments)
        self.complete(request, physical_id)
        retag(request, previous, self.attributes(request, physical_id)["DBParameterGroupArn"])


def retag(request: ResourceRequest, previous: Mapping[str, Any], arn: str) -> None:
    """Make the tags of a resource of RDS those of the request."""
    rds = request.aws.service("rds")
    gone, tags = tag_changes(previous, request.properties)
    if gone:
        rds.remove_tags_from_resource(ResourceName=arn, TagKeys=gone)
    if tags:
        rds.add_tags_to_resource(ResourceName=arn, Tags=tags)


def _generated_name(request: ResourceRequest) -> str:
    return request.generated_name(NAME_LIMIT).lower()
