"""The one security group that nodes and file system share."""

from __future__ import annotations

from aws_cdk import aws_ec2
from constructs import Construct

ALL_PROTOCOLS = "-1"


class NodeSecurityGroup(Construct):
    """Members talk to each other without limit and may open connections to anywhere.

    EFA needs both directions by the group's own id: a rule for 0.0.0.0/0 does not cover its
    traffic, and without the second rule the whole cluster fails its health checks (SageMaker
    HyperPod developer guide, prerequisites). The L2 `SecurityGroup` drops such a rule without a
    word when all egress is allowed; hence the rules are resources of their own.
    """

    def __init__(self, scope: Construct, id_: str, *, vpc_id: str) -> None:
        super().__init__(scope, id_)
        group = aws_ec2.CfnSecurityGroup(
            self,
            "Group",
            vpc_id=vpc_id,
            group_description="Nodes and file system: everything among themselves, any way out",
            security_group_egress=[
                aws_ec2.CfnSecurityGroup.EgressProperty(
                    ip_protocol=ALL_PROTOCOLS,
                    cidr_ip="0.0.0.0/0",
                    description="AWS APIs, package mirrors, container registries",
                )
            ],
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
