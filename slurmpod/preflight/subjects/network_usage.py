"""Usage of network quotas, and the needs of an environment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from slurmpod.aws.clients import AwsClients
from slurmpod.preflight.facts import Facts
from slurmpod.preflight.question import Question, all_of
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.preflight.subjects.quotas import INCREASE, Need
from slurmpod.preflight.subjects.stacks import will_be_made
from slurmpod.resolve import Resolved
from slurmpod.rules.groups import GROUPS
from slurmpod.rules.registry import Finding

VPC_QUOTAS = "https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html"


@dataclass(frozen=True)
class Usage:
    """Current usage of the network quotas; endpoints by the id of their VPC."""

    vpcs: int
    internet_gateways: int
    elastic_ips: int
    network_interfaces: int
    interface_endpoints: Mapping[str, int]


def _usage(clients: AwsClients, _: Resolved) -> Usage:
    ec2 = clients.ec2
    endpoints = all_of(ec2, "describe_vpc_endpoints", "VpcEndpoints")
    kinds = [each["VpcId"] for each in endpoints if each.get("VpcEndpointType") == "Interface"]
    return Usage(
        vpcs=len(all_of(ec2, "describe_vpcs", "Vpcs")),
        internet_gateways=len(all_of(ec2, "describe_internet_gateways", "InternetGateways")),
        elastic_ips=len(ec2.describe_addresses()["Addresses"]),
        network_interfaces=len(all_of(ec2, "describe_network_interfaces", "NetworkInterfaces")),
        interface_endpoints=dict(Counter(kinds)),
    )


USAGE = Question(
    "usage",
    "usage of network quotas",
    (
        "ec2:DescribeAddresses",
        "ec2:DescribeInternetGateways",
        "ec2:DescribeNetworkInterfaces",
        "ec2:DescribeVpcEndpoints",
        "ec2:DescribeVpcs",
    ),
    ("ec2",),
    _usage,
)


@PREFLIGHT.rule(
    "PRE-104",
    "Quotas allow the network",
    why="A new VPC takes one of the Region's VPCs and internet gateways, each NAT gateway an "
    "Elastic IP: five of each are the default. Endpoints count in their VPC.",
    fix=f"{INCREASE}; or delete unused resources",
    source=VPC_QUOTAS,
)
def _network(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    for need in _network_needs(resolved, facts):
        yield from need.finding(facts)


def _network_needs(resolved: Resolved, facts: Facts) -> Iterator[Need]:
    network, usage, path = resolved.network, facts[USAGE], ("network",)
    if usage is None or not will_be_made(facts, resolved.stacks.network):
        return
    new, gateways = int(network.existing is None), network.nat_gateways
    yield Need("vpc", "L-F678F1CE", "VPCs", usage.vpcs, new, path)
    internet = new and int(bool(gateways))
    yield Need("vpc", "L-A4707A72", "internet gateways", usage.internet_gateways, internet, path)
    yield Need("ec2", "L-0263D0A3", "Elastic IPs", usage.elastic_ips, gateways, path)
    vpc_id = network.existing.vpc_id if network.existing else ""
    there = usage.interface_endpoints.get(vpc_id, 0)
    count, noun = len(network.interface_endpoints), "interface endpoints in the VPC"
    yield Need("vpc", "L-29B6F2EB", noun, there, count, path)


@PREFLIGHT.rule(
    "PRE-105",
    "The quota allows the nodes' network interfaces",
    why="Every address of a node is a network interface in the account, and large types have "
    "dozens.",
    fix=INCREASE,
    source=VPC_QUOTAS,
)
def _interfaces(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    usage = facts[USAGE]
    if usage is None or not will_be_made(facts, resolved.stacks.cluster):
        return
    needed = sum(each.count * each.addresses_per_node for each in resolved.groups)
    used, noun = usage.network_interfaces, "network interfaces"
    yield from Need("vpc", "L-DF5E4CA3", noun, used, needed, GROUPS).finding(facts)


QUESTIONS = (USAGE,)
