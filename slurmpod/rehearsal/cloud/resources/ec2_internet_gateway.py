"""AWS::EC2::InternetGateway and AWS::EC2::VPCGatewayAttachment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.ec2_tags import retag, tag_specifications
from slurmpod.rehearsal.cloud.resources.provider import Provider, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping


class InternetGateway(Provider):
    """An internet gateway, not yet attached to any VPC."""

    type = "AWS::EC2::InternetGateway"
    supported = frozenset({"Tags"})
    in_place = frozenset({"Tags"})

    def create(self, request: ResourceRequest) -> str:
        """Create the gateway."""
        gateway = request.aws.ec2.create_internet_gateway(
            TagSpecifications=tag_specifications("internet-gateway", request)
        )["InternetGateway"]
        return gateway["InternetGatewayId"]

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the id under its own name."""
        return {"InternetGatewayId": physical_id}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Set the tags anew."""
        retag(request, physical_id, previous)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the gateway."""
        request.aws.ec2.delete_internet_gateway(InternetGatewayId=physical_id)


class VpcGatewayAttachment(Provider):
    """The attachment of an internet gateway to a VPC."""

    type = "AWS::EC2::VPCGatewayAttachment"
    supported = frozenset({"InternetGatewayId", "VpcId"})

    def create(self, request: ResourceRequest) -> str:
        """Attach the gateway; the id is CloudFormation's `IGW|<vpc>`."""
        request.aws.ec2.attach_internet_gateway(**request.properties)
        return f"IGW|{request.properties['VpcId']}"

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Say what is attached."""
        return {"AttachmentType": "IGW"}

    def delete(self, request: ResourceRequest, physical_id: str) -> None:  # noqa: ARG002
        """Detach the gateway."""
        request.aws.ec2.detach_internet_gateway(**request.properties)
