"""Questions about a VPC that is there already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from embedded_aws.reachability.ec2 import ACTIONS, GATEWAY, ROUTE_TARGETS, graph_of, rule_of
from embedded_aws.reachability.model import EVERYWHERE, Interface
from slurmpod.aws.clients import AwsClients
from slurmpod.preflight import names
from slurmpod.preflight.facts import (
    Endpoint,
    ExistingNetwork,
    ExistingSubnet,
    NetworkPaths,
    SecurityGroup,
    Vpc,
)
from slurmpod.preflight.questions.question import Question
from slurmpod.resolve import Resolved


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
            return next((str(route[key]) for key in ROUTE_TARGETS if route.get(key)), "")
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
        ingress=tuple(map(rule_of, found["IpPermissions"])),
        egress=tuple(map(rule_of, found["IpPermissionsEgress"])),
    )


def _endpoint(found: Any, region: str) -> Endpoint:
    return Endpoint(
        service=found["ServiceName"].partition(f".{region}.")[2],
        kind=found.get("VpcEndpointType", GATEWAY),
        has_private_dns=bool(found.get("PrivateDnsEnabled")),
    )


def _paths(clients: AwsClients, resolved: Resolved) -> NetworkPaths:
    """Return what lies between nodes and what they need, in the VPC that they will be in."""
    interfaces = {
        each["FileSystemId"]: tuple(each.get("NetworkInterfaceIds", ()))
        for page in clients.fsx.get_paginator("describe_file_systems").paginate()
        for each in page["FileSystems"]
        if each["FileSystemId"] in names.file_systems(resolved)
    }
    database = _database(clients, resolved)
    (vpc_id,) = names.vpcs(resolved)
    graph = graph_of(
        clients.ec2,
        vpc_id,
        interfaces=[each for ids in interfaces.values() for each in ids],
        groups=[*names.security_groups(resolved), *(g for each in database for g in each.groups)],
    )
    of_subnets = (graph.subnets.get(each.subnet) for each in database)
    places = zip(database, of_subnets, strict=True)
    return NetworkPaths(
        graph,
        interfaces,
        tuple(replace(each, address=subnet.first_address) for each, subnet in places if subnet),
    )


def _database(clients: AwsClients, resolved: Resolved) -> list[Interface]:
    """Return an interface for each subnet that the environment's own server of RDS may be in."""
    named = resolved.slurm.accounting_database
    if named is None:
        return []
    pages = clients.rds.get_paginator("describe_db_instances").paginate()
    found = (each for page in pages for each in page["DBInstances"])
    return [
        Interface("", subnet["SubnetIdentifier"], _groups_of_database(each))
        for each in found
        if each.get("Endpoint", {}).get("Address") == named.endpoint
        for subnet in each["DBSubnetGroup"]["Subnets"]
    ]


def _groups_of_database(found: Any) -> tuple[str, ...]:
    return tuple(each["VpcSecurityGroupId"] for each in found["VpcSecurityGroups"])


def _has_vpc(resolved: Resolved) -> bool:
    return resolved.network.existing is not None


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
        _has_vpc,
    ),
    Question(
        "paths",
        "what lies between nodes and what they need",
        (*ACTIONS, "fsx:DescribeFileSystems", "rds:DescribeDBInstances"),
        ("ec2", "fsx", "rds"),
        _paths,
        _has_vpc,
    ),
)
