"""Rules for egress, closed networks, and flow logs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slurmpod.environment.network import (
    SERVICES_WITHOUT_POLICIES,
    interface_endpoint_services,
)
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.problems import Severity
from slurmpod.resolve import Resolved
from slurmpod.resolve.network import services_of_a_closed_network
from slurmpod.rules.registry import PRIVATE_SUBNETS, Area, Finding

WAYS_OUT = Area("OUT", "Egress", reads=("network",))

NAT_GATEWAYS = "https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-basics.html"
ENDPOINT_SERVICES = (
    "https://docs.aws.amazon.com/vpc/latest/privatelink/aws-services-privatelink-support.html"
)
INTERFACE_ENDPOINTS = (
    "https://docs.aws.amazon.com/vpc/latest/privatelink/create-interface-endpoint.html"
)
GATEWAY_ENDPOINTS = "https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html"
S3_ENDPOINT_POLICY = "https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-endpoints-s3.html"
VPC_QUOTAS = "https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html"

NAT = ("network", "nat")
ENDPOINTS = ("network", "interface_endpoints")

SERVICES_WITH_GATEWAYS = {"s3", "dynamodb"}
DEFAULT_ENDPOINT_QUOTA = 50
"""Interface endpoints per VPC, adjustable (Amazon VPC quotas)."""


@WAYS_OUT.rule(
    "OUT-001",
    "A closed network has no NAT gateway",
    why="A closed network has no internet access, which a NAT gateway provides.",
    fix="remove nat, or remove closed",
    source=NAT_GATEWAYS,
)
def _closed_has_no_nat(resolved: Resolved) -> Iterator[Finding]:
    network = resolved.environment.network
    if network.closed and network.nat not in {None, "none"}:
        yield Finding(NAT, f"a closed network has no NAT gateways, and nat is '{network.nat}'")


@WAYS_OUT.rule(
    "OUT-002",
    "Nodes have egress, or the network is closed",
    why="Nodes call AWS services during setup, monitoring and use. Without NAT gateways and "
    "without the endpoints of a closed network they need routes that you add; until then "
    "the cluster cannot be created.",
    fix="write 'closed: true' to have endpoints for these services, or 'nat: one'; suppress it if "
    "you add your own routes, for example through a transit gateway",
    source=NAT_GATEWAYS,
    severity=Severity.WARNING,
)
def _nodes_have_a_way_out(resolved: Resolved) -> Iterator[Finding]:
    network = resolved.environment.network
    if network.nat == "none" and not network.closed and not network.existing:
        yield Finding(NAT, "this network has no egress, and it is not closed")


@WAYS_OUT.rule(
    "OUT-003",
    "NAT gateways per zone are for several zones",
    why="With one zone, per_zone creates a single NAT gateway, like one.",
    fix="write 'nat: one', or remove the key",
    source=NAT_GATEWAYS,
    severity=Severity.WARNING,
    reads=PRIVATE_SUBNETS,
)
def _per_zone_is_for_several(resolved: Resolved) -> Iterator[Finding]:
    network = resolved.environment.network
    if network.nat == "per_zone" and not network.existing and len(resolved.network.zones) == 1:
        yield Finding(NAT, "there is only one zone")


@WAYS_OUT.rule(
    "OUT-004",
    "With several zones, the number of NAT gateways is explicit",
    why="Zones that share a NAT gateway lose egress if its zone fails, and pay for traffic "
    "between zones; one per zone costs more while idle.",
    fix="write 'nat: per_zone', or 'nat: one' if that is intended",
    source=NAT_GATEWAYS,
    severity=Severity.WARNING,
    reads=PRIVATE_SUBNETS,
)
def _several_zones_say_how_many(resolved: Resolved) -> Iterator[Finding]:
    network, with_nodes = resolved.environment.network, {group.zone for group in resolved.groups}
    zones = [zone for zone in resolved.network.zones if zone in with_nodes]
    if resolved.network.nat_gateways and network.nat is None and len(zones) > 1:
        message = f"the {len(zones)} zones share the NAT gateway of {zones[0]}"
        yield Finding(("network", "other_zones"), message, at_key=True)


@WAYS_OUT.rule(
    "OUT-005",
    "Interface endpoints are named once",
    why="There is one endpoint per service; a closed network already has those that nodes need.",
    fix="remove the entry",
    source="slurmpod/resolve/network.py",
    severity=Severity.WARNING,
    reads=("network", "services"),
)
def _endpoints_are_named_once(resolved: Resolved) -> Iterator[Finding]:
    network = resolved.environment.network
    has_endpoints = network.existing and network.existing.has_endpoints
    closed = network.closed and not has_endpoints
    own = services_of_a_closed_network(serves_models=resolved.endpoint is not None)
    for index, service in enumerate(network.interface_endpoints):
        if service in network.interface_endpoints[:index]:
            yield Finding((*ENDPOINTS, index), f"'{service}' is named twice")
        elif closed and service in own:
            yield Finding((*ENDPOINTS, index), f"a closed network has an endpoint for '{service}'")


@WAYS_OUT.rule(
    "OUT-006",
    "Services are named by their short names",
    why="The Region's prefix is added: `ecr.api` becomes com.amazonaws.us-west-2.ecr.api.",
    fix="write what follows the Region",
    source=ENDPOINT_SERVICES,
)
def _services_have_short_names(resolved: Resolved) -> Iterator[Finding]:
    for index, service in enumerate(resolved.environment.network.interface_endpoints):
        if _is_full_name(service):
            short = ".".join(service.split(".")[3:])
            fix = f"write {short}" if short else ""
            yield Finding((*ENDPOINTS, index), f"'{service}' is a full name", fix)


@WAYS_OUT.rule(
    "OUT-007",
    "Interface endpoints are for services that have them",
    why="The network fails to be created with an endpoint for an unknown service.",
    fix="look the name up: aws ec2 describe-vpc-endpoint-services; accept it for one that is newer "
    "than the list of the pinned aws-cdk-lib",
    source=ENDPOINT_SERVICES,
    severity=Severity.WARNING,
)
def _services_are_known(resolved: Resolved) -> Iterator[Finding]:
    listed = resolved.environment.network.interface_endpoints
    for index, service in enumerate(listed):
        if service not in interface_endpoint_services() and not _is_full_name(service):
            guess = did_you_mean(service, interface_endpoint_services() - {*listed})
            message = f"no AWS service with interface endpoints is called '{service}'"
            yield Finding((*ENDPOINTS, index), message, guess)


@WAYS_OUT.rule(
    "OUT-008",
    "S3 and DynamoDB are reached through gateway endpoints",
    why="A gateway endpoint is free of charge, an interface endpoint costs by the hour and by the "
    "gigabyte. The network has one for S3, which the private DNS names of an interface endpoint "
    "would bypass: all data of the training would be paid for.",
    fix="remove the entry; accept it for DynamoDB where a gateway endpoint will not do",
    source=GATEWAY_ENDPOINTS,
    severity=Severity.WARNING,
)
def _no_interface_for_gateways(resolved: Resolved) -> Iterator[Finding]:
    for index, service in enumerate(resolved.environment.network.interface_endpoints):
        if service in SERVICES_WITH_GATEWAYS:
            yield Finding((*ENDPOINTS, index), f"'{service}' has gateway endpoints")


@WAYS_OUT.rule(
    "OUT-009",
    "The interface endpoints are within the quota of a VPC",
    why=f"A VPC has {DEFAULT_ENDPOINT_QUOTA} interface endpoints unless AWS has raised the quota.",
    fix="name fewer services; suppress it if your quota is larger",
    source=VPC_QUOTAS,
    severity=Severity.WARNING,
    reads=("monitoring", "network", "services"),
)
def _endpoints_within_quota(resolved: Resolved) -> Iterator[Finding]:
    count = len(resolved.network.interface_endpoints)
    if count > DEFAULT_ENDPOINT_QUOTA:
        yield Finding(ENDPOINTS, f"{count} interface endpoints are needed", at_key=True)


@WAYS_OUT.rule(
    "OUT-010",
    "Reachable buckets are listed for closed networks only",
    why="Only a closed network limits the buckets that nodes can reach; elsewhere the list has no "
    "effect.",
    fix="remove s3_buckets, or write 'closed: true'",
    source=S3_ENDPOINT_POLICY,
    severity=Severity.WARNING,
)
def _buckets_are_for_closed_networks(resolved: Resolved) -> Iterator[Finding]:
    if resolved.network.s3_buckets and not resolved.network.closed:
        yield Finding(("network", "s3_buckets"), "all buckets can be reached", at_key=True)


@WAYS_OUT.rule(
    "OUT-011",
    "Endpoints of a closed network let only this account through",
    why="The endpoints of some services take no policy. Anyone with credentials of another "
    "account can use such an endpoint to carry data there.",
    fix="remove the entry, or suppress the warning with the reason",
    source=ENDPOINT_SERVICES,
    severity=Severity.WARNING,
)
def _endpoints_have_policies(resolved: Resolved) -> Iterator[Finding]:
    network = resolved.environment.network
    for index, service in enumerate(network.interface_endpoints):
        if network.closed and service in SERVICES_WITHOUT_POLICIES:
            yield Finding((*ENDPOINTS, index), f"the endpoint of '{service}' takes no policy")


def _is_full_name(service: str) -> bool:
    return service.startswith(("com.amazonaws.", "aws."))


FLOW_LOGS = Area("FLO", "Flow logs", reads=("network",))

SECURITY_HUB = "https://docs.aws.amazon.com/securityhub/latest/userguide/ec2-controls.html#ec2-6"


@FLOW_LOGS.rule(
    "FLO-001",
    "The traffic of the VPC is recorded",
    why="Without flow logs it is impossible to find out later which hosts exchanged data; "
    "control EC2.6 of AWS Security Hub requires them.",
    fix="write 'traffic: ALL' or 'traffic: REJECT', or accept it with the reason",
    source=SECURITY_HUB,
    severity=Severity.WARNING,
)
def _traffic_is_recorded(resolved: Resolved) -> Iterator[Finding]:
    network = resolved.environment.network
    if network.flow_logs.traffic == "NONE" and not network.existing:
        yield Finding(("network", "flow_logs", "traffic"), "the VPC's traffic is not recorded")


@FLOW_LOGS.rule(
    "FLO-003",
    "Flow logs that are off have no settings",
    why="With 'traffic: NONE' there is no log group: its settings have no effect.",
    fix="remove the key",
    source="slurmpod/environment/network.py",
    severity=Severity.WARNING,
)
def _no_settings_of_nothing(resolved: Resolved) -> Iterator[Finding]:
    flow_logs = resolved.network.flow_logs
    if flow_logs.traffic != "NONE":
        return
    for key in sorted(flow_logs.model_fields_set - {"traffic"}):
        yield Finding(("network", "flow_logs", key), "flow logs are off", at_key=True)


COMMANDS = re.compile(r"&&|\|\|?|;|\$\(|`")
"""Separators of commands on one line."""

OPTIONS = r"\s+(?:-\S+\s+(?:[^-\s]\S*\s+)?){0,20}?"
"""Options, with their values, between a program and its subcommand."""

FETCHES = (
    rf"\b(?:(?:apt|apt-get|yum|dnf|zypper){OPTIONS}(?:install|update|upgrade|makecache)"
    rf"|snap{OPTIONS}(?:install|refresh)"
    rf"|(?:pip[0-9.]*|pipx|conda|mamba|npm|gem|cargo|go){OPTIONS}install"
    rf"|git{OPTIONS}clone"
    rf"|(?:docker|podman|apptainer|singularity){OPTIONS}pull"
    rf"|enroot{OPTIONS}import"
    r"|ansible-galaxy|add-apt-repository)(?![\w-])"
)
"""Programs that download from the internet by default."""

NEAR = (
    r"169\.254\.|127\.|10\.|192\.168\.|172\.(?:1[6-9]|2[0-9]|3[01])\.|localhost\b|[\[$]"
    r"|[\w-]+(?:[:/\s\"']|$)|[\w.-]+\.(?:internal|local)\b"
)
"""Hosts of the instance and of its VPC: private addresses (RFC 1918) and names without a domain."""

URL = rf"https?://(?!{NEAR})[^\s\"'`)<>]+"
HOST = (
    r"(?<![\w./@=:-])(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|ai|edu|gov|co|cloud|aws)"
    r"(?=[/:\s]|$)[^\s\"'`)<>]*"
)
"""An external host without https://, which curl, wget and docker do not need."""

DOWNLOADS = (
    rf"\b(?:curl|wget|aria2c|git|pip[0-9.]*|(?:docker|podman){OPTIONS}(?:run|create))"
    rf"\s.{{0,400}}?(?P<found>{URL}|{HOST})"
)
VALUE = rf"(?<!\"\")(?<!'')(?<!Documentation=)(?<=[\"'=(])(?P<found>{URL})"
"""An address assigned to a variable or passed to a function, not one in a sentence or a unit file.
"""

STAYS_INSIDE = (
    r"\bamazonaws\.com\b|\s--(?:no-index|offline|pull[= ]never)\b"
    rf"|\s\.{{0,2}}/\S+\.(?:deb|rpm|whl)\b|\bclone{OPTIONS}(?:[./]|file:)"
)
"""Exceptions: AWS endpoints, which a closed network has, and commands that use local files."""

LONGEST = 5000
"""Maximum length of a line; longer ones are data, and slow to search."""


def needs_internet(line: str) -> str | None:
    """Return the first part of a line, without comment, that needs the internet, or None."""
    found = (_needed(command) for command in COMMANDS.split(line) if len(line) <= LONGEST)
    return next((part for part in found if part), None)


def _needed(command: str) -> str | None:
    if re.search(STAYS_INSIDE, command):
        return None
    if fetches := re.search(FETCHES, command):
        return fetches.group()
    address = re.search(DOWNLOADS, command) or re.search(VALUE, command)
    return address["found"] if address else None
