"""Questions about a VPC that is there already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from slurmpod.aws.clients import AwsClients
from slurmpod.preflight import names
from slurmpod.preflight.facts import (
    Endpoint,
    ExistingNetwork,
    ExistingSubnet,
    SecurityGroup,
    Traffic,
    Vpc,
)
from slurmpod.preflight.questions.question import Question
from slurmpod.resolve import Resolved

EVERYWHERE = "0.0.0.0/0"
TARGETS = (
    "NatGatewayId",
    "TransitGatewayId",
    "VpcPeeringConnectionId",
    "NetworkInterfaceId",
    "InstanceId",
    "LocalGatewayId",
    "CarrierGatewayId",
    "CoreNetworkArn",
    "GatewayId",
)
"""Where a route can lead (EC2 API reference, Route)."""

ALL_PORTS = (0, 65535)
GATEWAY = "Gateway"
"""The kind of an endpoint when nobody says it (EC2 API reference, CreateVpcEndpoint)."""


def _network(clients: AwsClients, resolved: Resolved) -> ExistingNetwork:
    ec2 = clients.ec2
    vpc_ids = list(names.vpcs(resolved))
    of_vpc = _filter("vpc-id", vpc_ids)
    tables = ec2.describe_route_tables(Filters=of_vpc)["RouteTables"]
    routes = _default_routes(tables)
    main = next((_default_route(each) for each in tables if _is_main(each)), "")
    wanted = names.route_tables(resolved)
    asked = ec2.describe_route_tables(Filters=_filter("route-table-id", wanted))
    subnets = ec2.describe_subnets(Filters=_filter("subnet-id", names.subnets(resolved)))
    groups = ec2.describe_security_groups(
        Filters=_filter("group-id", names.security_groups(resolved))
    )
    vpcs = ec2.describe_vpcs(Filters=of_vpc)["Vpcs"]
    endpoints = ec2.describe_vpc_endpoints(Filters=of_vpc)["VpcEndpoints"]
    return ExistingNetwork(
        vpcs=_by_id(vpc_ids, {each["VpcId"]: _vpc(ec2, each["VpcId"]) for each in vpcs}),
        subnets=_by_id(
            names.subnets(resolved),
            {
                each["SubnetId"]: _subnet(each, routes.get(each["SubnetId"], main))
                for each in subnets["Subnets"]
            },
        ),
        security_groups=_by_id(
            names.security_groups(resolved),
            {each["GroupId"]: _group(each) for each in groups["SecurityGroups"]},
        ),
        route_tables=_by_id(
            wanted, {each["RouteTableId"]: each["VpcId"] for each in asked["RouteTables"]}
        ),
        endpoints=tuple(_endpoint(each, resolved.region) for each in endpoints),
    )


def public_subnets(ec2: Any) -> frozenset[str]:
    """Return the ids of all subnets of the Region that lead to an internet gateway."""
    tables = ec2.describe_route_tables()["RouteTables"]
    own = _default_routes(tables)
    main = {each["VpcId"]: _default_route(each) for each in tables if _is_main(each)}
    return frozenset(
        each["SubnetId"]
        for each in ec2.describe_subnets()["Subnets"]
        if own.get(each["SubnetId"], main.get(each["VpcId"], "")).startswith("igw-")
    )


def _filter(name: str, values: Iterable[str]) -> list[dict[str, Any]]:
    """Return a filter for ids; unlike a list of ids it bears that some are not there."""
    return [{"Name": name, "Values": list(values) or ["none"]}]


def _by_id(wanted: Iterable[str], found: Mapping[str, Any]) -> dict[str, Any]:
    return {id_: found.get(id_) for id_ in wanted}


def _vpc(ec2: Any, vpc_id: str) -> Vpc:
    support = ec2.describe_vpc_attribute(VpcId=vpc_id, Attribute="enableDnsSupport")
    hostnames = ec2.describe_vpc_attribute(VpcId=vpc_id, Attribute="enableDnsHostnames")
    return Vpc(
        dns_support=support["EnableDnsSupport"]["Value"],
        dns_hostnames=hostnames["EnableDnsHostnames"]["Value"],
    )


def _default_routes(tables: Iterable[Any]) -> dict[str, str]:
    """Return by subnet where its table leads; those without a table of their own are left out."""
    return {
        association["SubnetId"]: _default_route(table)
        for table in tables
        for association in table["Associations"]
        if "SubnetId" in association
    }


def _is_main(table: Any) -> bool:
    return any(association.get("Main") for association in table["Associations"])


def _default_route(table: Any) -> str:
    for route in table["Routes"]:
        if route.get("DestinationCidrBlock") == EVERYWHERE and route.get("State") != "blackhole":
            return next((str(route[key]) for key in TARGETS if route.get(key)), "")
    return ""


def _subnet(found: Any, default_route: str) -> ExistingSubnet:
    return ExistingSubnet(
        vpc_id=found["VpcId"],
        zone=found["AvailabilityZone"],
        zone_id=found["AvailabilityZoneId"],
        cidr=found["CidrBlock"],
        free_addresses=found["AvailableIpAddressCount"],
        default_route=default_route,
    )


def _group(found: Any) -> SecurityGroup:
    return SecurityGroup(
        vpc_id=found["VpcId"],
        ingress=tuple(map(_traffic, found["IpPermissions"])),
        egress=tuple(map(_traffic, found["IpPermissionsEgress"])),
    )


def _traffic(rule: Any) -> Traffic:
    return Traffic(
        protocol=rule["IpProtocol"],
        first_port=rule.get("FromPort", ALL_PORTS[0]),
        last_port=rule.get("ToPort", ALL_PORTS[1]),
        groups=tuple(each["GroupId"] for each in rule.get("UserIdGroupPairs", [])),
        cidrs=tuple(each["CidrIp"] for each in rule.get("IpRanges", [])),
    )


def _endpoint(found: Any, region: str) -> Endpoint:
    return Endpoint(
        service=found["ServiceName"].partition(f".{region}.")[2],
        kind=found.get("VpcEndpointType", GATEWAY),
        has_private_dns=bool(found.get("PrivateDnsEnabled")),
    )


QUESTIONS = (
    Question(
        "network",
        "the VPC",
        (
            "ec2:DescribeRouteTables",
            "ec2:DescribeSecurityGroups",
            "ec2:DescribeSubnets",
            "ec2:DescribeVpcAttribute",
            "ec2:DescribeVpcEndpoints",
            "ec2:DescribeVpcs",
        ),
        ("ec2",),
        _network,
        lambda resolved: resolved.network.existing is not None,
    ),
)
