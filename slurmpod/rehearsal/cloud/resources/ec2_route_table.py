"""AWS::EC2::RouteTable, AWS::EC2::Route and AWS::EC2::SubnetRouteTableAssociation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.ec2_tags import retag, tag_specifications
from slurmpod.rehearsal.cloud.resources.provider import Provider, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping


class RouteTable(Provider):
    """A route table; routes and associations are resources of their own."""

    type = "AWS::EC2::RouteTable"
    supported = frozenset({"Tags", "VpcId"})
    in_place = frozenset({"Tags"})

    def create(self, request: ResourceRequest) -> str:
        """Create the route table."""
        table = request.aws.ec2.create_route_table(
            VpcId=request.properties["VpcId"],
            TagSpecifications=tag_specifications("route-table", request),
        )["RouteTable"]
        return table["RouteTableId"]

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Return the id under its own name."""
        return {"RouteTableId": physical_id, "VpcId": request.properties["VpcId"]}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Set the tags anew."""
        retag(request, physical_id, previous)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the route table."""
        request.aws.ec2.delete_route_table(RouteTableId=physical_id)


class Route(Provider):
    """A route; its id is `<route table>|<destination>`, as CloudFormation writes it."""

    type = "AWS::EC2::Route"
    supported = frozenset({"DestinationCidrBlock", "GatewayId", "NatGatewayId", "RouteTableId"})
    in_place = frozenset({"GatewayId", "NatGatewayId"})

    def create(self, request: ResourceRequest) -> str:
        """Create the route."""
        request.aws.ec2.create_route(**request.properties)
        return "{RouteTableId}|{DestinationCidrBlock}".format_map(request.properties)

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the destination under the name that CloudFormation gives it."""
        return {"CidrBlock": request.properties["DestinationCidrBlock"]}

    def update(
        self,
        request: ResourceRequest,
        physical_id: str,  # noqa: ARG002
        previous: Mapping[str, Any],  # noqa: ARG002
    ) -> None:
        """Point the route elsewhere."""
        request.aws.ec2.replace_route(**request.properties)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:  # noqa: ARG002
        """Delete the route."""
        request.aws.ec2.delete_route(**request.given("RouteTableId", "DestinationCidrBlock"))


class SubnetRouteTableAssociation(Provider):
    """The assignment of a route table to a subnet."""

    type = "AWS::EC2::SubnetRouteTableAssociation"
    supported = frozenset({"RouteTableId", "SubnetId"})

    def create(self, request: ResourceRequest) -> str:
        """Associate the two."""
        answer = request.aws.ec2.associate_route_table(**request.properties)
        return answer["AssociationId"]

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the id under its own name."""
        return {"Id": physical_id}

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Take them apart; the subnet falls back to the main route table."""
        request.aws.ec2.disassociate_route_table(AssociationId=physical_id)
