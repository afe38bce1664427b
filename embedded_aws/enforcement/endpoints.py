"""VPC endpoints through which nodes reach AWS services; their policies limit the nodes.

The role of a session determines its source: the subnets of the instance groups with that role. A
service may call another on a caller's behalf, which bypasses the endpoints. Sources: AWS
PrivateLink guide, "Control access to VPC endpoints using endpoint policies"; IAM user guide,
"aws:SourceVpc" and "aws:SourceVpce".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

from moto.ec2.models import ec2_backends

from embedded_aws.enforcement.callers import Identity
from embedded_aws.iam import Policy, policy_of
from embedded_aws.sagemaker.clusters import Clusters

ENDPOINT_POLICY = "VPC endpoint policy"
"""AWS's name for it in error messages."""

_NAMES = {"cloudwatch": "monitoring", "ecr": "ecr.api", "sagemaker": "sagemaker.api"}
"""Endpoint names of services whose action prefix differs."""

_GATEWAY = "Gateway"


class VpcEndpoints:
    """The endpoints in one account's VPCs that have clusters."""

    def __init__(self, account: str, clusters: Clusters) -> None:
        self._account = account
        self._clusters = clusters

    def passed(self, identity: Identity, service: str, region: str) -> Identity:
        """Return the caller, limited by the endpoint through which its nodes reach the service."""
        subnets = self._subnets(identity.principal.role_arn or "", region)
        ways = [self._endpoint(each, _NAMES.get(service, service), region) for each in subnets]
        if not ways or ways[0] is None or any(each is not ways[0] for each in ways):
            return identity  # not from a node, without an endpoint, or from several VPCs
        endpoint = ways[0]
        source = {"aws:SourceVpc": endpoint.vpc_id, "aws:SourceVpce": endpoint.id}
        return replace(
            identity,
            limits={**identity.limits, ENDPOINT_POLICY: (_parsed(endpoint.policy_document),)},
            context={**identity.context, **source},
        )

    def _subnets(self, role_arn: str, region: str) -> set[str]:
        """Return the subnets of all nodes with this role."""
        return {
            subnet
            for cluster in self._clusters.all(region)
            for group in cluster.groups
            if group.execution_role_arn == role_arn
            for subnet in group.vpc_config.subnet_ids
        }

    def _endpoint(self, subnet_id: str, service: str, region: str) -> Any:
        """Return moto's endpoint for a service in a subnet; DNS prefers interface endpoints."""
        backend = ec2_backends[self._account][region]
        zones = list(backend.subnets.values())
        subnet = next((zone[subnet_id] for zone in zones if subnet_id in zone), None)
        if subnet is None:
            return None
        table = next(_tables(backend, subnet), None)
        found = [
            each
            for each in list(backend.vpc_end_points.values())
            if each.vpc_id == subnet.vpc_id and each.service_name.endswith(f".{region}.{service}")
        ]
        own_name = (each for each in found if each.private_dns_enabled)
        routed = (
            each
            for each in found
            if (each.vpc_endpoint_type or _GATEWAY) == _GATEWAY and table in each.route_table_ids
        )
        return next(own_name, next(routed, None))


def _tables(backend: Any, subnet: Any) -> Iterator[str]:
    """Yield the route table of a subnet, then the main one of its VPC."""
    tables = [each for each in list(backend.route_tables.values()) if each.vpc_id == subnet.vpc_id]
    own = {"SubnetId": subnet.id}
    yield from (
        each.id for each in tables if any(own.items() <= a.items() for a in each.associations)
    )
    yield from (each.id for each in tables if each.main_association_id)


@lru_cache(maxsize=256)
def _parsed(text: str) -> Policy:
    return policy_of("of the endpoint", json.loads(text))
