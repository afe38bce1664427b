"""Parts of networks for templates, and a look at them."""

from __future__ import annotations

from typing import Any

from embedded_aws.clients import Clients
from tests.cloud.embedded_stacks import REGION, ref, resource

ECR = f"com.amazonaws.{REGION}.ecr.api"
S3 = f"com.amazonaws.{REGION}.s3"


def vpc(cidr: str = "10.0.0.0/16", **properties: Any) -> dict[str, Any]:
    dns: dict[str, Any] = {"EnableDnsHostnames": True, "EnableDnsSupport": True, **properties}
    return resource("EC2::VPC", CidrBlock=cidr, **dns)


def subnet(cidr: str, zone_id: str = "usw2-az1", **more: Any) -> dict[str, Any]:
    return resource(
        "EC2::Subnet", VpcId=ref("Vpc"), CidrBlock=cidr, AvailabilityZoneId=zone_id, **more
    )


def group(**rules: Any) -> dict[str, Any]:
    return resource("EC2::SecurityGroup", GroupDescription="test", VpcId=ref("Vpc"), **rules)


def interface_endpoint(*subnets: str, service: str = ECR, **more: Any) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "VpcId": ref("Vpc"),
        "ServiceName": service,
        "VpcEndpointType": "Interface",
        "SubnetIds": [ref(name) for name in subnets],
        "PrivateDnsEnabled": True,
        "SecurityGroupIds": [ref("Group")],
        **more,
    }
    return resource("EC2::VPCEndpoint", **properties)


def free_addresses(clients: Clients, subnet_id: str) -> int:
    (found,) = clients.ec2.describe_subnets(SubnetIds=[subnet_id])["Subnets"]
    return found["AvailableIpAddressCount"]
