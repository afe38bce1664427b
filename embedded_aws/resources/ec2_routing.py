"""EC2: internet gateways, public addresses, NAT gateways, route tables and routes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from embedded_aws.resources.api_resource import DescribeCall
from embedded_aws.resources.ec2_network import Ec2Resource
from embedded_aws.resources.provider import ProviderError, ResourceRequest


class InternetGateway(Ec2Resource):
    """An internet gateway, not yet attached to any VPC."""

    type = "AWS::EC2::InternetGateway"
    kind = "internet-gateway"
    supported = in_place = frozenset({"Tags"})
    creation, deletion = "create_internet_gateway", "delete_internet_gateway"
    identity = "InternetGatewayId"
    answer = ("InternetGateway", "InternetGatewayId")
    described_by = DescribeCall("describe_internet_gateways", "InternetGatewayIds")
    id_attributes = ("InternetGatewayId",)


class VpcGatewayAttachment(Ec2Resource):
    """The attachment of an internet gateway to a VPC."""

    type = "AWS::EC2::VPCGatewayAttachment"
    supported = frozenset({"InternetGatewayId", "VpcId"})
    creation, deletion = "attach_internet_gateway", "detach_internet_gateway"

    def create(self, request: ResourceRequest) -> str:
        """Attach the gateway; the id is CloudFormation's `IGW|<vpc>`."""
        self.call(request, self.creation, request.properties)
        return f"IGW|{request.properties['VpcId']}"

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Return the attachment's attributes."""
        return {"AttachmentType": "IGW"}

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Detach the gateway."""
        self.call(request, self.deletion, request.properties)


class ElasticIp(Ec2Resource):
    """A public address; Ref gives the address, not the allocation."""

    type = "AWS::EC2::EIP"
    kind = "elastic-ip"
    supported = frozenset({"Domain", "Tags"})
    in_place = frozenset({"Tags"})
    creation, deletion = "allocate_address", "release_address"
    identity = "AllocationId"
    answer = ("PublicIp",)
    described_by = DescribeCall("describe_addresses", "PublicIps", ("Addresses", 0))
    id_attributes = ("PublicIp",)
    read_attributes: ClassVar = {"AllocationId": ("AllocationId",)}
    tagging = replace(Ec2Resource.tagging, by_attribute="AllocationId")

    def arguments(self, request: ResourceRequest) -> dict[str, Any]:
        """Return the tags; addresses are for VPCs."""
        return {"Domain": "vpc", **self.tag_arguments(request)}

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Release the address."""
        super().delete(request, self.attributes(request, physical_id)["AllocationId"])


class NatGateway(Ec2Resource):
    """A NAT gateway in a public subnet."""

    type = "AWS::EC2::NatGateway"
    kind = "natgateway"
    supported = frozenset({"AllocationId", "ConnectivityType", "SubnetId", "Tags"})
    in_place = frozenset({"Tags"})
    creation, deletion = "create_nat_gateway", "delete_nat_gateway"
    identity = "NatGatewayId"
    answer = ("NatGateway", "NatGatewayId")
    described_by = DescribeCall("describe_nat_gateways", "NatGatewayIds", ("NatGateways", 0))
    id_attributes = ("NatGatewayId",)

    def create(self, request: ResourceRequest) -> str:
        """Create the gateway; a public one needs an internet gateway in its VPC."""
        if request.properties.get("ConnectivityType", "public") == "public":
            _require_internet_gateway(request)
        return super().create(request)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the gateway, and its network interface, which moto leaves behind."""
        gateway = self.described(request.aws, physical_id)
        super().delete(request, physical_id)
        for address in gateway["NatGatewayAddresses"]:
            interface = address["NetworkInterfaceId"]
            request.aws.ec2.delete_network_interface(NetworkInterfaceId=interface)


class RouteTable(Ec2Resource):
    """A route table; routes and associations are separate resources."""

    type = "AWS::EC2::RouteTable"
    kind = "route-table"
    supported = frozenset({"Tags", "VpcId"})
    in_place = frozenset({"Tags"})
    creation, deletion = "create_route_table", "delete_route_table"
    identity = "RouteTableId"
    answer = ("RouteTable", "RouteTableId")
    described_by = DescribeCall("describe_route_tables", "RouteTableIds")
    id_attributes = ("RouteTableId",)
    given_attributes = ("VpcId",)


class Route(Ec2Resource):
    """A route; its id is `<route table>|<destination>`, as CloudFormation writes it."""

    type = "AWS::EC2::Route"
    supported = frozenset({"DestinationCidrBlock", "GatewayId", "NatGatewayId", "RouteTableId"})
    in_place = frozenset({"GatewayId", "NatGatewayId"})
    creation, change, deletion = "create_route", "replace_route", "delete_route"

    def create(self, request: ResourceRequest) -> str:
        """Create the route."""
        self.call(request, self.creation, request.properties)
        return "{RouteTableId}|{DestinationCidrBlock}".format_map(request.properties)

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Return the destination under the name that CloudFormation gives it."""
        return {"CidrBlock": request.properties["DestinationCidrBlock"]}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Point the route elsewhere."""
        self.call(request, str(self.change), request.properties)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the route."""
        self.call(request, self.deletion, request.given("RouteTableId", "DestinationCidrBlock"))


class SubnetRouteTableAssociation(Ec2Resource):
    """The association of a route table with a subnet, in place of the main route table."""

    type = "AWS::EC2::SubnetRouteTableAssociation"
    supported = frozenset({"RouteTableId", "SubnetId"})
    creation, deletion = "associate_route_table", "disassociate_route_table"
    identity = "AssociationId"
    answer = ("AssociationId",)
    id_attributes = ("Id",)


def _require_internet_gateway(request: ResourceRequest) -> None:
    ec2 = request.aws.ec2
    (subnet,) = ec2.describe_subnets(SubnetIds=[request.properties["SubnetId"]])["Subnets"]
    attached = ec2.describe_internet_gateways(
        Filters=[{"Name": "attachment.vpc-id", "Values": [subnet["VpcId"]]}]
    )["InternetGateways"]
    if not attached:
        raise ProviderError(f"Network {subnet['VpcId']} has no Internet gateway attached")
