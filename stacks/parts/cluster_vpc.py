"""The VPC of a cluster: one zone, a public subnet for the way out, a private one for the nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsii
from aws_cdk import Acknowledgment, Validations, aws_ec2, aws_logs
from constructs import Construct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurmpod.resolve import ResolvedNetwork

FLOW_LOG_RETENTION = aws_logs.RetentionDays.THREE_MONTHS
"""Long enough to look into an incident that is noticed late; older entries cost and tell little."""


@jsii.implements(aws_ec2.IIpAddresses)
class ResolvedAddresses:
    """Gives a `Vpc` the ranges of `Resolved`, in place of the split that it computes itself."""

    def __init__(self, network: ResolvedNetwork) -> None:
        self._network = network

    def allocate_vpc_cidr(self) -> aws_ec2.VpcIpamOptions:
        """Return the range of the whole VPC."""
        return aws_ec2.VpcIpamOptions(cidr_block=str(self._network.vpc_cidr))

    def allocate_subnets_cidr(
        self,
        *,
        requested_subnets: Sequence[aws_ec2.RequestedSubnet | dict[str, Any]],  # noqa: ARG002
        vpc_cidr: str,  # noqa: ARG002
    ) -> aws_ec2.SubnetIpamOptions:
        """Return the ranges in the order in which `ClusterVpc` declares its subnets."""
        return aws_ec2.SubnetIpamOptions(
            allocated_subnets=[
                aws_ec2.AllocatedSubnet(cidr=str(subnet.cidr))
                for subnet in (self._network.public, self._network.private)
            ]
        )


class ClusterVpc(Construct):
    """A VPC in one zone: NAT and internet gateway, S3 gateway endpoint, flow logs.

    Nodes reach S3 through the endpoint (free of charge, no NAT throughput limit) and everything
    else through the NAT gateway. Nothing gets a public address but the NAT gateway. The default
    security group is emptied, so that nothing ends up in it by oversight.
    """

    def __init__(self, scope: Construct, id_: str, *, network: ResolvedNetwork) -> None:
        super().__init__(scope, id_)
        flow_logs = aws_logs.LogGroup(self, "FlowLogs", retention=FLOW_LOG_RETENTION)
        vpc = aws_ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ResolvedAddresses(network),
            availability_zones=[network.zone],
            enable_dns_hostnames=True,
            enable_dns_support=True,
            nat_gateways=1,
            restrict_default_security_group=True,
            subnet_configuration=[
                aws_ec2.SubnetConfiguration(
                    name="Public",
                    subnet_type=aws_ec2.SubnetType.PUBLIC,
                    map_public_ip_on_launch=False,
                ),
                aws_ec2.SubnetConfiguration(
                    name="Private", subnet_type=aws_ec2.SubnetType.PRIVATE_WITH_EGRESS
                ),
            ],
            gateway_endpoints={
                "S3": aws_ec2.GatewayVpcEndpointOptions(
                    service=aws_ec2.GatewayVpcEndpointAwsService.S3
                )
            },
            flow_logs={
                "FlowLog": aws_ec2.FlowLogOptions(
                    destination=aws_ec2.FlowLogDestination.to_cloud_watch_logs(flow_logs),
                    traffic_type=aws_ec2.FlowLogTrafficType.ALL,
                )
            },
        )
        Validations.of(vpc).acknowledge(
            Acknowledgment(
                id="CloudFormation-Validate::W3010",
                reason="the zone is chosen, not found: accelerated capacity is bought in one zone",
            )
        )
        self.vpc_id = vpc.vpc_id
        self.private_subnet_id = vpc.private_subnets[0].subnet_id
