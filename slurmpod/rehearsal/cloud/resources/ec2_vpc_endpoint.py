"""AWS::EC2::VPCEndpoint."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.ec2_tags import retag, tag_specifications
from slurmpod.rehearsal.cloud.resources.provider import Provider, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping


class VpcEndpoint(Provider):
    """A gateway endpoint (S3) or an interface endpoint."""

    type = "AWS::EC2::VPCEndpoint"
    supported = frozenset(
        {
            "PolicyDocument",
            "PrivateDnsEnabled",
            "RouteTableIds",
            "SecurityGroupIds",
            "ServiceName",
            "SubnetIds",
            "Tags",
            "VpcEndpointType",
            "VpcId",
        }
    )
    in_place = frozenset({"PolicyDocument", "RouteTableIds", "SubnetIds", "Tags"})

    def create(self, request: ResourceRequest) -> str:
        """Create the endpoint."""
        endpoint = request.aws.ec2.create_vpc_endpoint(
            TagSpecifications=tag_specifications("vpc-endpoint", request),
            **request.given(
                "PrivateDnsEnabled",
                "RouteTableIds",
                "SecurityGroupIds",
                "ServiceName",
                "SubnetIds",
                "VpcEndpointType",
                "VpcId",
            ),
            **_policy(request.properties),
        )["VpcEndpoint"]
        return endpoint["VpcEndpointId"]

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Look up what the endpoint consists of."""
        found = request.aws.ec2.describe_vpc_endpoints(VpcEndpointIds=[physical_id])
        endpoint = found["VpcEndpoints"][0]
        return {
            "Id": physical_id,
            "CreationTimestamp": endpoint["CreationTimestamp"].isoformat(),
            "NetworkInterfaceIds": endpoint.get("NetworkInterfaceIds", []),
        }

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Change policy, route tables, subnets and tags."""
        changes: dict[str, Any] = _policy(request.properties)
        for kind in ("RouteTableIds", "SubnetIds"):
            old, new = set(previous.get(kind, [])), set(request.properties.get(kind, []))
            changes |= {f"Add{kind}": sorted(new - old), f"Remove{kind}": sorted(old - new)}
        changes = {name: value for name, value in changes.items() if value}
        request.aws.ec2.modify_vpc_endpoint(VpcEndpointId=physical_id, **changes)
        retag(request, physical_id, previous)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the endpoint."""
        request.aws.ec2.delete_vpc_endpoints(VpcEndpointIds=[physical_id])


def _policy(properties: Mapping[str, Any]) -> dict[str, Any]:
    document = properties.get("PolicyDocument")
    return {} if document is None else {"PolicyDocument": json.dumps(document)}
