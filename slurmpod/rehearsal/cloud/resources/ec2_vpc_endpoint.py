"""AWS::EC2::VPCEndpoint."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.ec2_endpoint_checks import check_gateway, check_interface
from slurmpod.rehearsal.cloud.resources.ec2_tags import retag, tag_specifications
from slurmpod.rehearsal.cloud.resources.provider import Provider, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

_MEMBERS = ("RouteTableIds", "SecurityGroupIds", "SubnetIds")


class VpcEndpoint(Provider):
    """A gateway endpoint (S3), unless the type says Interface: then one address in each subnet."""

    type = "AWS::EC2::VPCEndpoint"
    supported = frozenset(
        {
            *_MEMBERS,
            "PolicyDocument",
            "PrivateDnsEnabled",
            "ServiceName",
            "Tags",
            "VpcEndpointType",
            "VpcId",
        }
    )
    in_place = frozenset({*_MEMBERS, "PolicyDocument", "Tags"})

    def create(self, request: ResourceRequest) -> str:
        """Create the endpoint."""
        kind = request.properties.get("VpcEndpointType", "Gateway")
        if kind == "Interface":
            check_interface(request.aws, request.properties)
        else:
            check_gateway(request.aws, request.properties, added=_members(request, "RouteTableIds"))
        endpoint = request.aws.ec2.create_vpc_endpoint(
            TagSpecifications=tag_specifications("vpc-endpoint", request),
            VpcEndpointType=kind,
            PrivateDnsEnabled=request.properties.get("PrivateDnsEnabled", False),
            **request.given(*_MEMBERS, "ServiceName", "VpcId"),
            **_policy(request.properties),
        )["VpcEndpoint"]
        return endpoint["VpcEndpointId"]

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Look up what the endpoint consists of."""
        found = request.aws.ec2.describe_vpc_endpoints(VpcEndpointIds=[physical_id])
        endpoint = found["VpcEndpoints"][0]
        entries = endpoint.get("DnsEntries", [])
        return {
            "Id": physical_id,
            "CreationTimestamp": endpoint["CreationTimestamp"].isoformat(),
            "DnsEntries": [f"{entry['HostedZoneId']}:{entry['DnsName']}" for entry in entries],
            "NetworkInterfaceIds": endpoint.get("NetworkInterfaceIds", []),
        }

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Change policy, route tables, subnets, security groups and tags."""
        changes: dict[str, Any] = _policy(request.properties)
        for kind in _MEMBERS:
            old, new = set(previous.get(kind, [])), set(request.properties.get(kind, []))
            changes |= {f"Add{kind}": sorted(new - old), f"Remove{kind}": sorted(old - new)}
        check_gateway(request.aws, request.properties, added=changes["AddRouteTableIds"])
        changes = {name: value for name, value in changes.items() if value}
        request.aws.ec2.modify_vpc_endpoint(VpcEndpointId=physical_id, **changes)
        retag(request, physical_id, previous)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the endpoint."""
        request.aws.ec2.delete_vpc_endpoints(VpcEndpointIds=[physical_id])


def _members(request: ResourceRequest, kind: str) -> list[str]:
    return list(request.properties.get(kind, []))


def _policy(properties: Mapping[str, Any]) -> dict[str, Any]:
    document = properties.get("PolicyDocument")
    return {} if document is None else {"PolicyDocument": json.dumps(document)}
