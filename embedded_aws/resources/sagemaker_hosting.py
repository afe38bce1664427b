"""SageMaker: models and the endpoints that serve them. Ref gives the ARN of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from embedded_aws.clients import Clients
from embedded_aws.resources.api_resource import ApiResource, DescribeCall, Naming
from embedded_aws.resources.provider import ResourceRequest
from embedded_aws.resources.tags import Tagging


class NamedInSageMaker(ApiResource):
    """A resource identified by name in calls and by ARN in CloudFormation."""

    service = "sagemaker"
    checked_by_model = True
    tagging = Tagging("ResourceArn", tag="add_tags", untag="delete_tags")

    def described(self, aws: Clients, physical_id: str) -> Any:
        """Look the resource up by the name in its ARN."""
        return super().described(aws, name_in(physical_id))

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Apply the changes, and update the tags."""
        if self.change:
            changes = self.changes(request, previous)
            self.call(request, self.change, {self.identity: name_in(physical_id), **changes})
        self.retag(request, physical_id, previous)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the resource."""
        self.call(request, self.deletion, {self.identity: name_in(physical_id)})


class Model(NamedInSageMaker):
    """A model: container, files and role."""

    type = "AWS::SageMaker::Model"
    in_place = frozenset({"Tags"})
    supported = in_place | {
        "EnableNetworkIsolation",
        "ExecutionRoleArn",
        "ModelName",
        "PrimaryContainer",
        "VpcConfig",
    }
    creation, deletion = "create_model", "delete_model"
    identity = "ModelName"
    answer = ("ModelArn",)
    naming = Naming("ModelName", 63)
    described_by = DescribeCall("describe_model", "ModelName")
    read_attributes: ClassVar = {"ModelName": ("ModelName",)}


class EndpointConfig(NamedInSageMaker):
    """The instances and the models of an endpoint."""

    type = "AWS::SageMaker::EndpointConfig"
    in_place = frozenset({"Tags"})
    supported = in_place | {"EndpointConfigName", "KmsKeyId", "ProductionVariants"}
    creation, deletion = "create_endpoint_config", "delete_endpoint_config"
    identity = "EndpointConfigName"
    answer = ("EndpointConfigArn",)
    naming = Naming("EndpointConfigName", 63)
    described_by = DescribeCall("describe_endpoint_config", "EndpointConfigName")
    read_attributes: ClassVar = {"EndpointConfigName": ("EndpointConfigName",)}


class Endpoint(NamedInSageMaker):
    """An endpoint, which can switch to another configuration in place."""

    type = "AWS::SageMaker::Endpoint"
    apart = frozenset({"RetainAllVariantProperties"})
    in_place = apart | {"EndpointConfigName", "Tags"}
    supported = in_place | {"EndpointName"}
    creation, change, deletion = "create_endpoint", "update_endpoint", "delete_endpoint"
    identity = "EndpointName"
    answer = ("EndpointArn",)
    naming = Naming("EndpointName", 63)
    described_by = DescribeCall("describe_endpoint", "EndpointName")
    read_attributes: ClassVar = {"EndpointName": ("EndpointName",)}

    def changes(self, request: ResourceRequest, previous: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of an update, including those that the creation lacks."""
        return super().changes(request, previous) | request.given("RetainAllVariantProperties")

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Switch to another configuration if it changed, and update the tags."""
        if request.properties["EndpointConfigName"] != previous["EndpointConfigName"]:
            super().update(request, physical_id, previous)
        else:
            self.retag(request, physical_id, previous)


def name_in(arn: str) -> str:
    """Return the name at the end of an ARN."""
    return arn.rpartition("/")[2]
