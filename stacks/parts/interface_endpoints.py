"""Interface endpoints: AWS services inside the VPC, for nodes without a way out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aws_cdk import Aws, aws_ec2
from constructs import Construct

from slurmpod.environment.network import SERVICES_WITHOUT_POLICIES
from slurmpod.resolve import Resolved
from slurmpod_cdk.parts.endpoint_policies import service_policy

HTTPS = 443

PRIVATE_RANGES = {
    "10.0.0.0/8": "RFC 1918",
    "172.16.0.0/12": "RFC 1918",
    "192.168.0.0/16": "RFC 1918",
    "100.64.0.0/10": "RFC 6598",
}
"""Who can be in a VPC whose ranges are not known here."""


class InterfaceEndpoints(Construct):
    """One endpoint per service, with an address in every private subnet and private DNS names.

    Programs on the nodes need no settings: the services' usual names lead to the endpoints.
    A security group of their own lets the nodes in, and their policies, where the service knows
    any, let only identities of this account through, and only what nodes ask.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        resolved: Resolved,
        vpc_id: str,
        subnet_ids: Sequence[str],
        client_group_ids: Sequence[str],
    ) -> None:
        super().__init__(scope, id_)
        group = aws_ec2.CfnSecurityGroup(
            self,
            "Group",
            vpc_id=vpc_id,
            group_description="Interface endpoints: HTTPS from the nodes",
            security_group_ingress=list(
                _everyone_in_the_vpc() if resolved.network.existing else _nodes(client_group_ids)
            ),
            security_group_egress=[_no_egress()],
        )
        for service in resolved.network.interface_endpoints:
            aws_ec2.CfnVPCEndpoint(
                self,
                service,
                vpc_id=vpc_id,
                vpc_endpoint_type="Interface",
                service_name=f"com.amazonaws.{Aws.REGION}.{service}",
                subnet_ids=subnet_ids,
                security_group_ids=[group.attr_group_id],
                private_dns_enabled=True,
                policy_document=None
                if service in SERVICES_WITHOUT_POLICIES
                else service_policy(resolved, service),
            )


def _no_egress() -> aws_ec2.CfnSecurityGroup.EgressProperty:
    """Return a rule to nowhere: with none at all, EC2 adds one that lets everything out."""
    return aws_ec2.CfnSecurityGroup.EgressProperty(
        ip_protocol="-1", cidr_ip="127.0.0.1/32", description="Endpoints open no connections"
    )


def _nodes(client_group_ids: Sequence[str]) -> Iterator[aws_ec2.CfnSecurityGroup.IngressProperty]:
    for group_id in client_group_ids:
        yield aws_ec2.CfnSecurityGroup.IngressProperty(
            ip_protocol="tcp",
            from_port=HTTPS,
            to_port=HTTPS,
            source_security_group_id=group_id,
            description="Nodes",
        )


def _everyone_in_the_vpc() -> Iterator[aws_ec2.CfnSecurityGroup.IngressProperty]:
    """Let in who uses an existing VPC too: private DNS leads all of them to the endpoints."""
    for cidr, source in PRIVATE_RANGES.items():
        yield aws_ec2.CfnSecurityGroup.IngressProperty(
            ip_protocol="tcp",
            from_port=HTTPS,
            to_port=HTTPS,
            cidr_ip=cidr,
            description=f"Whoever is in the VPC ({source})",
        )
