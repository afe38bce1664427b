"""Checks of connections in an existing VPC."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ipaddress import IPv4Network
from itertools import islice

from embedded_aws.iam import NotAPolicy, Policies, Request, evaluate, policy_of
from embedded_aws.reachability.model import Endpoint, Graph
from slurmpod.preflight import names
from slurmpod.preflight.facts import Facts
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.preflight.subjects.existing_network import node_paths
from slurmpod.preflight.subjects.existing_network.node_paths import Stopped
from slurmpod.preflight.subjects.existing_network.vpc_graph import PATHS, NetworkPaths
from slurmpod.problems import Severity
from slurmpod.resolve import Resolved
from slurmpod.rules.existing_network import EXISTING, LUSTRE_ACCESS
from slurmpod.rules.registry import Finding

VPC = "https://docs.aws.amazon.com/vpc/latest/userguide/"
ENDPOINT_POLICIES = "https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-endpoints-access.html"
RDS = "https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/Overview.RDSSecurityGroups.html"
OF_AWS = ("AmazonProvidedDNS", "169.254.169.253")
"""The DHCP option for the VPC's own name server, which is also at the VPC's third address."""

ALLOWING_ALL = policy_of(
    "of a node",
    {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]},
)


@PREFLIGHT.rule(
    "PRE-321",
    "Nodes reach existing file systems",
    why="A mount hangs for minutes and fails if a security group, a network ACL or a missing "
    "route blocks it: Lustre uses TCP 988 and 1018 to 1023 in both directions, NFS TCP 2049.",
    fix="add the rule that is named, for the nodes' security group",
    source=LUSTRE_ACCESS,
)
def _file_systems_are_reached(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    return _stopped(node_paths.to_file_systems, resolved, facts)


@PREFLIGHT.rule(
    "PRE-322",
    "Nodes of all subnets reach each other",
    why="slurmctld, slurmd and slurmdbd connect on TCP 6817 to 6819, and steps to srun on any "
    "port above 32767, or one of SrunPortRange. Between subnets network ACLs apply, too, and "
    "they are stateless: replies need a separate entry.",
    fix="add the rule or the entry that is named; replies go to TCP 32768 to 60999",
    source=f"{VPC}vpc-network-acls.html",
)
def _nodes_are_reached(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    return _stopped(node_paths.among_nodes, resolved, facts)


@PREFLIGHT.rule(
    "PRE-323",
    "Nodes reach the database",
    why="If a security group or a network ACL blocks the database, slurmdbd waits for it, and "
    "the controller's setup fails.",
    fix="allow the nodes' security group at the database's port",
    source=RDS,
)
def _database_is_reached(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    return islice(_stopped(node_paths.to_database, resolved, facts), 1)


@PREFLIGHT.rule(
    "PRE-324",
    "Nodes reach the directory",
    why="Without the directory its users cannot log in. If a server is given by name, only the "
    "outbound rules of the nodes' security groups are checked, because its address is not "
    "known.",
    fix="allow LDAP outbound from the nodes' security group, and inbound at the server",
    source=f"{VPC}vpc-security-groups.html",
)
def _directory_is_reached(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    return _stopped(node_paths.to_directory, resolved, facts)


@PREFLIGHT.rule(
    "PRE-325",
    "Nodes reach AWS",
    why="Nodes fetch their scripts from S3, write logs and serve sessions through Systems "
    "Manager. Each needs a route, or an endpoint that allows the nodes.",
    fix="route the subnet to a NAT gateway, create the endpoint, or allow the nodes at TCP 443",
    source=f"{VPC}vpc-nat-gateway.html",
)
def _services_are_reached(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    return _stopped(node_paths.to_services, resolved, facts)


@PREFLIGHT.rule(
    "PRE-326",
    "Nodes use the VPC's own name server",
    why="The VPC's own name server resolves file systems, endpoints and databases. Other "
    "servers do so only if they forward these names to it.",
    fix="have the other servers forward amazonaws.com and the Region's names to the VPC's, then "
    "accept it; or use AmazonProvidedDNS in the VPC's DHCP options",
    source=f"{VPC}DHCPOptionSetConcepts.html",
    severity=Severity.WARNING,
)
def _names_are_asked_of_the_vpc(_: Resolved, facts: Facts) -> Iterator[Finding]:
    graph = _graph(facts)
    own = {*OF_AWS, *(str(IPv4Network(each)[2]) for each in graph.cidrs)}
    if others := [each for each in graph.name_servers if each not in own]:
        message = f"the VPC's DHCP options name {', '.join(others)}"
        yield Finding((*EXISTING, "vpc_id"), message)


@PREFLIGHT.rule(
    "PRE-327",
    "Endpoint policies allow nodes to use S3",
    why="The policy of an endpoint limits all requests through it, regardless of the node's "
    "role: nodes that cannot read their scripts are not set up.",
    fix="allow s3:GetObject and s3:ListBucket on the bucket in the endpoint's policy",
    source=ENDPOINT_POLICIES,
)
def _endpoints_let_through(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    endpoints = _graph(facts).endpoints
    buckets = (resolved.lifecycle.bucket, *names.buckets(resolved))
    for endpoint in (each for each in endpoints if each.service == "s3" and each.policy):
        closed = [each for each in buckets if not _lets_read(endpoint, resolved.bucket_arn(each))]
        if closed:
            message = f"the policy of {endpoint.id} does not allow reading {', '.join(closed)}"
            yield Finding((*EXISTING, "vpc_id"), message)


def _graph(facts: Facts) -> Graph:
    paths = facts[PATHS]
    return paths.graph if paths else Graph()


def _stopped(
    connections: Callable[[Resolved, NetworkPaths], Iterator[Stopped]],
    resolved: Resolved,
    facts: Facts,
) -> Iterator[Finding]:
    """Yield the blocked connections, if the paths of the VPC are known."""
    paths = facts[PATHS]
    for each in connections(resolved, paths) if paths else ():
        yield Finding(each.path, each.message)


def _lets_read(endpoint: Endpoint, bucket_arn: str) -> bool:
    try:
        policy = policy_of("of the endpoint", dict(endpoint.policy or {}))
    except NotAPolicy:
        return True
    request = Request("s3:GetObject", f"{bucket_arn}/object")
    return evaluate(request, Policies((ALLOWING_ALL,), {"endpoint": (policy,)})).allowed
