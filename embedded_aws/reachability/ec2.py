"""Reads the parts of a VPC from EC2, with one request per kind."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from embedded_aws.reachability.model import (
    ALL_PORTS,
    PROTOCOL_NUMBERS,
    Acl,
    AclEntry,
    Endpoint,
    Graph,
    Group,
    Interface,
    Route,
    RouteTable,
    Rule,
    Subnet,
)

ROUTE_TARGETS = (
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
"""Possible targets of a route (EC2 API reference, Route)."""

GATEWAY = "Gateway"
"""The default type of an endpoint (EC2 API reference, CreateVpcEndpoint)."""

ACTIONS = (
    "ec2:DescribeDhcpOptions",
    "ec2:DescribeNetworkAcls",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeRouteTables",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcEndpoints",
    "ec2:DescribeVpcs",
)
"""The actions that `graph_of` needs."""


_BEFORE_THE_SERVICE = re.compile(r"^.*?\.[a-z]{2}-[a-z-]+-[0-9]+\.")


def graph_of(
    ec2: Any, vpc_id: str, *, interfaces: Collection[str] = (), groups: Collection[str] = ()
) -> Graph:
    """Return a VPC's parts, with these interfaces, those of its endpoints, and these groups.

    The groups of the interfaces are included. `ec2` is a boto3 client.
    """
    found = {
        operation: list(_all(ec2, operation, "vpc-id", [vpc_id]))
        for operation in ("subnets", "network_acls", "route_tables", "vpc_endpoints", "vpcs")
    }
    endpoints = tuple(map(endpoint_of, found["vpc_endpoints"]))
    wanted = {*interfaces, *(each for endpoint in endpoints for each in endpoint.interfaces)}
    described = list(_all(ec2, "network_interfaces", "network-interface-id", wanted))
    known = {each["NetworkInterfaceId"]: interface_of(each) for each in described}
    of_interfaces = {group for each in known.values() for group in each.groups}
    all_groups = _all(ec2, "security_groups", "group-id", {*groups, *of_interfaces})
    return Graph(
        subnets=_subnets(found["subnets"], found["network_acls"], found["route_tables"]),
        groups={each["GroupId"]: group_of(each) for each in all_groups},
        acls={each["NetworkAclId"]: acl_of(each) for each in found["network_acls"]},
        route_tables={each["RouteTableId"]: table_of(each) for each in found["route_tables"]},
        interfaces=known,
        endpoints=tuple(_with_interfaces(each, known) for each in endpoints),
        cidrs=tuple(
            block["CidrBlock"]
            for each in found["vpcs"]
            for block in each["CidrBlockAssociationSet"]
        ),
        name_servers=_name_servers(ec2, found["vpcs"]),
    )


def _all(ec2: Any, kind: str, name: str, values: Collection[str]) -> Iterator[Any]:
    """Yield the results of a filter, which, unlike a list of ids, may include missing ones."""
    if not values:
        return
    member = "".join(word.title() for word in kind.split("_"))
    pages = ec2.get_paginator(f"describe_{kind}").paginate(
        Filters=[{"Name": name, "Values": sorted(values)}]
    )
    for page in pages:
        yield from page[member]


def _name_servers(ec2: Any, vpcs: Iterable[Any]) -> tuple[str, ...]:
    ids = [
        each["DhcpOptionsId"] for each in vpcs if each.get("DhcpOptionsId", "default") != "default"
    ]
    configurations = (
        configuration
        for each in _all(ec2, "dhcp_options", "dhcp-options-id", ids)
        for configuration in each["DhcpConfigurations"]
        if configuration["Key"] == "domain-name-servers"
    )
    return tuple(value["Value"] for each in configurations for value in each["Values"])


def _subnets(
    subnets: Iterable[Any], acls: Iterable[Any], tables: Iterable[Any]
) -> dict[str, Subnet]:
    acl_of_subnet = {
        a["SubnetId"]: a["NetworkAclId"] for each in acls for a in each["Associations"]
    }
    associations = [a for each in tables for a in each["Associations"]]
    table_of_subnet = {a["SubnetId"]: a["RouteTableId"] for a in associations if "SubnetId" in a}
    main = next((a["RouteTableId"] for a in associations if a.get("Main")), "")
    return {
        (id_ := each["SubnetId"]): Subnet(
            id=id_,
            vpc_id=each["VpcId"],
            cidr=each["CidrBlock"],
            acl=acl_of_subnet.get(id_, ""),
            route_table=table_of_subnet.get(id_, main),
        )
        for each in subnets
    }


def _with_interfaces(endpoint: Endpoint, known: Mapping[str, Interface]) -> Endpoint:
    there = tuple(each for each in endpoint.interfaces if each in known)
    return Endpoint(**{**endpoint.__dict__, "interfaces": there})


def rule_of(found: Any) -> Rule:
    """Read an IpPermission."""
    return Rule(
        protocol=PROTOCOL_NUMBERS.get(found["IpProtocol"], found["IpProtocol"]),
        first_port=found.get("FromPort", ALL_PORTS[0]),
        last_port=found.get("ToPort", ALL_PORTS[1]),
        groups=tuple(each["GroupId"] for each in found.get("UserIdGroupPairs", [])),
        cidrs=tuple(each["CidrIp"] for each in found.get("IpRanges", [])),
        prefix_lists=tuple(each["PrefixListId"] for each in found.get("PrefixListIds", [])),
    )


def group_of(found: Any) -> Group:
    """Read a SecurityGroup."""
    return Group(
        id=found["GroupId"],
        ingress=tuple(map(rule_of, found["IpPermissions"])),
        egress=tuple(map(rule_of, found["IpPermissionsEgress"])),
    )


def acl_of(found: Any) -> Acl:
    """Read the IPv4 entries of a NetworkAcl."""
    entries = (
        AclEntry(
            number=each["RuleNumber"],
            is_egress=each["Egress"],
            allows=each["RuleAction"] == "allow",
            protocol=PROTOCOL_NUMBERS.get(str(each["Protocol"]), str(each["Protocol"])),
            cidr=each["CidrBlock"],
            first_port=each.get("PortRange", {}).get("From", ALL_PORTS[0]),
            last_port=each.get("PortRange", {}).get("To", ALL_PORTS[1]),
        )
        for each in found["Entries"]
        if each.get("CidrBlock")
    )
    return Acl(found["NetworkAclId"], tuple(entries))


def table_of(found: Any) -> RouteTable:
    """Read the IPv4 routes of a RouteTable."""
    routes = (
        Route(
            destination=each.get("DestinationCidrBlock") or each["DestinationPrefixListId"],
            target=next((str(each[key]) for key in ROUTE_TARGETS if each.get(key)), ""),
            is_active=each.get("State") != "blackhole",
        )
        for each in found["Routes"]
        if each.get("DestinationCidrBlock") or each.get("DestinationPrefixListId")
    )
    return RouteTable(found["RouteTableId"], tuple(routes))


def interface_of(found: Any) -> Interface:
    """Read a NetworkInterface."""
    return Interface(
        address=found["PrivateIpAddress"],
        subnet=found["SubnetId"],
        groups=tuple(each["GroupId"] for each in found["Groups"]),
        id=found["NetworkInterfaceId"],
    )


def endpoint_of(found: Any) -> Endpoint:
    """Read a VpcEndpoint: `com.amazonaws.us-west-2.ecr.api` is the service ecr.api."""
    policy = found.get("PolicyDocument")
    return Endpoint(
        id=found["VpcEndpointId"],
        service=_BEFORE_THE_SERVICE.sub("", found["ServiceName"]),
        kind=found.get("VpcEndpointType", GATEWAY),
        has_private_dns=bool(found.get("PrivateDnsEnabled")),
        interfaces=tuple(found.get("NetworkInterfaceIds", ())),
        route_tables=tuple(found.get("RouteTableIds", ())),
        policy=json.loads(policy) if policy else None,
    )
