"""Checks of connections in a VPC that is there already: what stops nodes on their way."""

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
"""How DHCP options name the VPC's own name server, which is at the VPC's third address, too."""

ALLOWING_ALL = policy_of(
    "of a node",
    {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]},
)


@PREFLIGHT.rule(
    "PRE-321",
    "Nodes reach existing file systems",
    why="A mount waits for minutes and fails where a security group, a network ACL or a missing "
    "route stops it: Lustre uses TCP 988 and 1018 to 1023 in both directions, NFS TCP 2049.",
    fix="add the rule that is named, for the nodes' security group",
    source=LUSTRE_ACCESS,
)
def _file_systems_are_reached(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    return _stopped(node_paths.to_file_systems, resolved, facts)


@PREFLIGHT.rule(
    "PRE-322",
    "Nodes of all subnets reach each other",
    why="slurmctld, slurmd and slurmdbd connect on TCP 6817 to 6819, and steps to srun on any port "
    "above 32767, or one of SrunPortRange. Between subnets network ACLs "
    "have a say, too, and know no connections: replies need an entry of their own.",
    fix="add the rule or the entry that is named; replies go to TCP 32768 to 60999",
    source=f"{VPC}vpc-network-acls.html",
)
def _nodes_are_reached(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    return _stopped(node_paths.among_nodes, resolved, facts)


@PREFLIGHT.rule(
    "PRE-323",
    "Nodes reach the database",
    why="slurmdbd waits for a database that a security group or a network ACL keeps from it, and "
    "the controller's set-up fails.",
    fix="let the nodes' security group in at the database's port",
    source=RDS,
)
def _database_is_reached(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    return islice(_stopped(node_paths.to_database, resolved, facts), 1)


@PREFLIGHT.rule(
    "PRE-324",
    "Nodes reach the directory",
    why="Without the directory nobody of it can log in. Where a server has a name, only what the "
    "nodes' security groups let out is judged: its address is not known here.",
    fix="let LDAP out of the nodes' security group, and in at the server",
    source=f"{VPC}vpc-security-groups.html",
)
def _directory_is_reached(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    return _stopped(node_paths.to_directory, resolved, facts)


@PREFLIGHT.rule(
    "PRE-325",
    "Nodes reach AWS",
    why="Nodes fetch their scripts from S3, write logs and are logged in to through Systems "
    "Manager. Each needs a route out, or an endpoint that lets the nodes in.",
    fix="route the subnet to a NAT gateway, make the endpoint, or let the nodes in at TCP 443",
    source=f"{VPC}vpc-nat-gateway.html",
)
def _services_are_reached(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    return _stopped(node_paths.to_services, resolved, facts)


@PREFLIGHT.rule(
    "PRE-326",
    "Nodes ask the VPC's own name server",
    why="Names of file systems, endpoints and databases are known to the VPC's own name server. "
    "Others answer only if somebody made them forward these names to it.",
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
    "Endpoints let nodes use S3",
    why="The policy of an endpoint limits all that goes through it, whatever the role of a node "
    "allows: without their scripts no node is set up.",
    fix="allow s3:GetObject and s3:ListBucket on the bucket in the endpoint's policy",
    source=ENDPOINT_POLICIES,
)
def _endpoints_let_through(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    endpoints = _graph(facts).endpoints
    buckets = (resolved.lifecycle.bucket, *names.buckets(resolved))
    for endpoint in (each for each in endpoints if each.service == "s3" and each.policy):
        closed = [each for each in buckets if not _lets_read(endpoint, resolved.bucket_arn(each))]
        if closed:
            message = f"the policy of {endpoint.id} does not let {', '.join(closed)} be read"
            yield Finding((*EXISTING, "vpc_id"), message)


def _graph(facts: Facts) -> Graph:
    paths = facts[PATHS]
    return paths.graph if paths else Graph()


def _stopped(
    connections: Callable[[Resolved, NetworkPaths], Iterator[Stopped]],
    resolved: Resolved,
    facts: Facts,
) -> Iterator[Finding]:
    """Yield the connections that something stops, where the paths of the VPC are known."""
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
