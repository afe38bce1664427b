"""The security group that nodes and file systems share."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_ec2
from constructs import Construct

from slurmpod.request.interfaces import HasVpcId

ALL_PROTOCOLS = "-1"
ANYWHERE = "0.0.0.0/0"
HTTPS = 443

DESCRIPTION = "Nodes and file systems, which reach each other without limit"
"""The same for every network: a new description replaces the group, and a new group replaces the
file systems with empty ones (CloudFormation reference, "Update requires")."""

EgressRule = aws_ec2.CfnSecurityGroup.EgressProperty


class NodeSecurityGroup(Construct):
    """Members reach each other without limit and may open connections to anywhere.

    EFA needs both directions by the group's own id: a rule for 0.0.0.0/0 does not cover its
    traffic, and without the second rule the whole cluster fails its health checks (SageMaker
    HyperPod developer guide, prerequisites). The L2 `SecurityGroup` silently drops such a rule when
    all egress is allowed; hence the rules are separate resources.

    In a closed network, whose ranges are `closed_cidrs`, members reach these (of an existing VPC,
    the known subnets), and HTTPS anywhere. Only S3 is reachable that way: there is no other route.
    A narrower rule needs the id of S3's prefix list, which CloudFormation cannot look up. DNS and
    NTP need no rules: security groups do not filter the VPC's own servers.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        vpc: HasVpcId,
        closed_cidrs: Sequence[str] | None = None,
    ) -> None:
        super().__init__(scope, id_)
        group = aws_ec2.CfnSecurityGroup(
            self,
            "Group",
            vpc_id=vpc.vpc_id,
            group_description=DESCRIPTION,
            security_group_egress=_open_egress()
            if closed_cidrs is None
            else _closed_egress(closed_cidrs),
        )
        aws_ec2.CfnSecurityGroupIngress(
            self,
            "FromItself",
            group_id=group.attr_group_id,
            source_security_group_id=group.attr_group_id,
            ip_protocol=ALL_PROTOCOLS,
            description="Slurm, EFA and Lustre among members",
        )
        aws_ec2.CfnSecurityGroupEgress(
            self,
            "ToItself",
            group_id=group.attr_group_id,
            destination_security_group_id=group.attr_group_id,
            ip_protocol=ALL_PROTOCOLS,
            description="EFA among members, which 0.0.0.0/0 does not cover",
        )
        self.security_group_id = group.attr_group_id


def _open_egress() -> list[EgressRule]:
    return [
        EgressRule(
            ip_protocol=ALL_PROTOCOLS,
            cidr_ip=ANYWHERE,
            description="AWS APIs, package mirrors, container registries",
        )
    ]


def _closed_egress(cidrs: Sequence[str]) -> list[EgressRule]:
    """Return the rules to the known ranges of the VPC, and to S3."""
    to_vpc = [
        EgressRule(ip_protocol=ALL_PROTOCOLS, cidr_ip=cidr, description="Whatever is in the VPC")
        for cidr in cidrs
    ]
    to_s3 = EgressRule(
        ip_protocol="tcp",
        cidr_ip=ANYWHERE,
        from_port=HTTPS,
        to_port=HTTPS,
        description="S3 through its gateway endpoint, AWS APIs through interface endpoints",
    )
    return [*to_vpc, to_s3]
