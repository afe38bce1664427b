"""AWS::EC2::EIP and AWS::EC2::NatGateway."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.ec2_tags import retag, tag_specifications
from slurmpod.rehearsal.cloud.resources.provider import Provider, ProviderError, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping


class ElasticIp(Provider):
    """A public address; Ref gives the address, not the allocation."""

    type = "AWS::EC2::EIP"
    supported = frozenset({"Domain", "Tags"})
    in_place = frozenset({"Tags"})

    def create(self, request: ResourceRequest) -> str:
        """Allocate the address."""
        answer = request.aws.ec2.allocate_address(
            Domain="vpc", TagSpecifications=tag_specifications("elastic-ip", request)
        )
        return answer["PublicIp"]

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Look up the allocation."""
        return {
            "PublicIp": physical_id,
            "AllocationId": _allocation_id(request, physical_id),
        }

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Set the tags anew."""
        retag(request, _allocation_id(request, physical_id), previous)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Release the address."""
        request.aws.ec2.release_address(AllocationId=_allocation_id(request, physical_id))


class NatGateway(Provider):
    """A NAT gateway in a public subnet."""

    type = "AWS::EC2::NatGateway"
    supported = frozenset({"AllocationId", "ConnectivityType", "SubnetId", "Tags"})
    in_place = frozenset({"Tags"})

    def create(self, request: ResourceRequest) -> str:
        """Create the gateway; a public one needs an internet gateway in its VPC."""
        if request.properties.get("ConnectivityType", "public") == "public":
            _require_internet_gateway(request)
        gateway = request.aws.ec2.create_nat_gateway(
            TagSpecifications=tag_specifications("natgateway", request),
            **request.given("AllocationId", "ConnectivityType", "SubnetId"),
        )["NatGateway"]
        return gateway["NatGatewayId"]

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the id under its own name."""
        return {"NatGatewayId": physical_id}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Set the tags anew."""
        retag(request, physical_id, previous)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the gateway, and its network interface, which moto leaves behind."""
        ec2 = request.aws.ec2
        (gateway,) = ec2.describe_nat_gateways(NatGatewayIds=[physical_id])["NatGateways"]
        ec2.delete_nat_gateway(NatGatewayId=physical_id)
        for address in gateway["NatGatewayAddresses"]:
            ec2.delete_network_interface(NetworkInterfaceId=address["NetworkInterfaceId"])


def _require_internet_gateway(request: ResourceRequest) -> None:
    ec2 = request.aws.ec2
    (subnet,) = ec2.describe_subnets(SubnetIds=[request.properties["SubnetId"]])["Subnets"]
    attached = ec2.describe_internet_gateways(
        Filters=[{"Name": "attachment.vpc-id", "Values": [subnet["VpcId"]]}]
    )["InternetGateways"]
    if not attached:
        raise ProviderError(f"Network {subnet['VpcId']} has no Internet gateway attached")


def _allocation_id(request: ResourceRequest, public_ip: str) -> str:
    addresses = request.aws.ec2.describe_addresses(PublicIps=[public_ip])["Addresses"]
    return addresses[0]["AllocationId"]
