"""Endpoints of an existing VPC."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.preflight.facts import Facts
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.preflight.subjects.existing_network.network import NETWORK
from slurmpod.preflight.subjects.stacks import will_be_made
from slurmpod.resolve import Resolved
from slurmpod.resolve.network import services_of_a_closed_network
from slurmpod.rules.egress import GATEWAY_ENDPOINTS, INTERFACE_ENDPOINTS
from slurmpod.rules.existing_network import EXISTING
from slurmpod.rules.registry import Finding


@PREFLIGHT.rule(
    "PRE-307",
    "The VPC has the endpoints that has_endpoints promises",
    why="Nodes of a closed network reach AWS only through endpoints.",
    fix="create the endpoints, or remove has_endpoints so that slurmpod creates them",
    source=INTERFACE_ENDPOINTS,
)
def _endpoints_are_there(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    network, named = facts[NETWORK], resolved.network.existing
    if network is None or not (named and named.has_endpoints and resolved.network.closed):
        return
    there = {each.service for each in network.endpoints}
    wanted = services_of_a_closed_network(serves_models=resolved.endpoint is not None)
    lacking = sorted({*wanted, "s3"} - there)
    if lacking:
        message = f"{named.vpc_id} has no endpoints for {', '.join(lacking)}"
        yield Finding((*EXISTING, "has_endpoints"), message)


@PREFLIGHT.rule(
    "PRE-308",
    "No endpoint is created twice",
    why="AWS refuses a second endpoint with the same private name in a VPC, and a second "
    "gateway endpoint for S3 in a route table.",
    fix="remove the service from interface_endpoints, or set has_endpoints",
    source=GATEWAY_ENDPOINTS,
)
def _endpoints_are_new(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    network = facts[NETWORK]
    if network is None or not will_be_made(facts, resolved.stacks.network):
        return
    there = {each.service for each in network.endpoints if each.has_private_dns}
    twice = sorted(there & set(resolved.network.interface_endpoints))
    if twice:
        key = "closed" if resolved.network.closed else "interface_endpoints"
        yield Finding(("network", key), f"the VPC already has endpoints for {', '.join(twice)}")
