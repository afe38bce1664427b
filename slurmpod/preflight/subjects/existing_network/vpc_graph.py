"""The network graph of an existing VPC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from embedded_aws.reachability.ec2 import ACTIONS, graph_of
from embedded_aws.reachability.model import Graph, Interface
from slurmpod.aws.clients import AwsClients
from slurmpod.preflight import names
from slurmpod.preflight.question import Question
from slurmpod.preflight.subjects.existing_network.network import has_vpc
from slurmpod.resolve import Resolved


@dataclass(frozen=True)
class NetworkPaths:
    """The routes, rules and endpoints between nodes and their targets in an existing VPC.

    `file_systems` has the ids of their interfaces, `database` an interface for each possible subnet
    of the server.
    """

    graph: Graph
    file_systems: Mapping[str, tuple[str, ...]]
    database: tuple[Interface, ...] = ()


def _paths(clients: AwsClients, resolved: Resolved) -> NetworkPaths:
    """Return the network graph of the nodes' VPC."""
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
    """Return an interface for each possible subnet of the environment's own RDS server."""
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


PATHS = Question(
    "paths",
    "routes and rules on the nodes' paths",
    (*ACTIONS, "fsx:DescribeFileSystems", "rds:DescribeDBInstances"),
    ("ec2", "fsx", "rds"),
    _paths,
    has_vpc,
)


QUESTIONS = (PATHS,)
