"""The network that an environment names: AWS's facts about its parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from embedded_aws.reachability.ec2 import GATEWAY, ROUTE_TARGETS, rule_of
from embedded_aws.reachability.model import EVERYWHERE, Rule
from slurmpod.aws.clients import AwsClients
from slurmpod.preflight import names
from slurmpod.preflight.question import Question
from slurmpod.resolve import Resolved


@dataclass(frozen=True)
class Vpc:
    """An existing VPC and its DNS settings."""

    dns_support: bool
    dns_hostnames: bool


@dataclass(frozen=True)
class ExistingSubnet:
    """A subnet; `default_route` is the id of the target for internet traffic, or empty."""

    vpc_id: str
    zone: str
    zone_id: str
    cidr: str
    free_addresses: int
    default_route: str


@dataclass(frozen=True)
class SecurityGroup:
    """A security group with its rules."""

    vpc_id: str
    ingress: tuple[Rule, ...]
    egress: tuple[Rule, ...]


@dataclass(frozen=True)
class Endpoint:
    """A VPC endpoint; `service` is AWS's short name, such as `ecr.api`."""

    service: str
    kind: str
    has_private_dns: bool


@dataclass(frozen=True)
class ExistingNetwork:
    """The network that an environment names, by the ids of its parts; route tables by their VPC."""

    vpcs: Mapping[str, Vpc | None]
    subnets: Mapping[str, ExistingSubnet | None]
    security_groups: Mapping[str, SecurityGroup | None]
    route_tables: Mapping[str, str | None]
    endpoints: tuple[Endpoint, ...]


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
    """Return the ids of all subnets of the Region with a route to an internet gateway."""
    tables = ec2.describe_route_tables()["RouteTables"]
    own = _default_routes(tables)
    main = {each["VpcId"]: _default_route(each) for each in tables if _is_main(each)}
    return frozenset(
        each["SubnetId"]
        for each in ec2.describe_subnets()["Subnets"]
        if own.get(each["SubnetId"], main.get(each["VpcId"], "")).startswith("igw-")
    )


def _filter(name: str, values: Iterable[str]) -> list[dict[str, Any]]:
    """Return a filter for ids, which, unlike a list of ids, tolerates missing ones."""
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
    """Return the default route by subnet, without subnets that have no explicit route table."""
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


def has_vpc(resolved: Resolved) -> bool:
    """Return whether an environment names a VPC."""
    return resolved.network.existing is not None


NETWORK = Question(
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
    has_vpc,
)


QUESTIONS = (NETWORK,)
