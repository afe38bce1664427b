"""A new VPC: in each zone a private subnet for nodes, and a public one for any NAT gateway."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jsii
from aws_cdk import Acknowledgment, RemovalPolicy, Validations, aws_ec2, aws_kms, aws_logs
from constructs import Construct

from slurmpod.environment.names import is_zone_id
from slurmpod.environment.network import FlowLogs
from slurmpod.resolve import Resolved, ResolvedNetwork
from slurmpod_cdk.network.endpoints import S3Endpoint

TRAFFIC_TYPES = {
    "ALL": aws_ec2.FlowLogTrafficType.ALL,
    "REJECT": aws_ec2.FlowLogTrafficType.REJECT,
}


def add_flow_logs(scope: Construct, vpc: aws_ec2.Vpc, settings: FlowLogs) -> None:
    """Record the traffic of `vpc` in a log group, which is retained."""
    if settings.traffic == "NONE":
        return
    key_arn = settings.kms_key_arn
    log_group = aws_logs.LogGroup(
        scope,
        "FlowLogs",
        encryption_key=aws_kms.Key.from_key_arn(scope, "FlowLogsKey", key_arn) if key_arn else None,
        removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    )
    resource = log_group.node.default_child
    if isinstance(resource, aws_logs.CfnLogGroup):
        resource.retention_in_days = settings.retention_days
    vpc.add_flow_log(
        "FlowLog",
        destination=aws_ec2.FlowLogDestination.to_cloud_watch_logs(log_group),
        traffic_type=TRAFFIC_TYPES[settings.traffic],
    )


@jsii.implements(aws_ec2.IIpAddresses)
class ResolvedAddresses:
    """Gives a `Vpc` the ranges of `Resolved`, instead of the ones that it would compute."""

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
                for subnet in (*self._network.public, *self._network.private)
            ]
        )


class ClusterVpc(Construct):
    """A VPC with the configured NAT gateways, an S3 gateway endpoint and flow logs.

    Nodes reach S3 through the endpoint (free of charge, no NAT throughput limit) and everything
    else through a NAT gateway, in their zone if it has one. Only NAT gateways have public
    addresses; without any, there is neither an internet gateway nor a public subnet. The rules of
    the default security group are removed, so that it grants nothing by accident.

    `private_subnet_ids` and `nat_gateway_ids` are by zone.
    """

    def __init__(self, scope: Construct, id_: str, *, resolved: Resolved) -> None:
        super().__init__(scope, id_)
        network = resolved.network
        vpc = _vpc(self, network)
        private = [*vpc.private_subnets, *vpc.isolated_subnets]
        for subnet in (*vpc.public_subnets, *private):
            _place(subnet)
        _add_secondary_blocks(vpc, network, private)
        S3Endpoint(
            vpc,
            "S3",
            resolved=resolved,
            vpc_id=vpc.vpc_id,
            route_table_ids=[
                subnet.route_table.route_table_id for subnet in (*private, *vpc.public_subnets)
            ],
        )
        add_flow_logs(self, vpc, network.flow_logs)
        Validations.of(vpc).acknowledge(
            Acknowledgment(
                id="CloudFormation-Validate::W3010",
                reason="the zone is chosen, not found: accelerated capacity is bought in one zone",
            )
        )
        self.vpc_id = vpc.vpc_id
        self.private_subnet_ids = {
            zone: subnet.subnet_id for zone, subnet in zip(network.zones, private, strict=True)
        }
        self.nat_gateway_ids = dict(_nat_gateway_ids(vpc))


def _vpc(scope: Construct, network: ResolvedNetwork) -> aws_ec2.Vpc:
    return aws_ec2.Vpc(
        scope,
        "Vpc",
        ip_addresses=ResolvedAddresses(network),
        availability_zones=list(network.zones),
        enable_dns_hostnames=True,
        enable_dns_support=True,
        nat_gateways=network.nat_gateways,
        restrict_default_security_group=True,
        subnet_configuration=list(_subnet_configuration(network)),
    )


def _subnet_configuration(network: ResolvedNetwork) -> Iterator[aws_ec2.SubnetConfiguration]:
    """Yield the kinds of subnets, in the order in which their ranges are assigned."""
    if network.public:
        yield aws_ec2.SubnetConfiguration(
            name="Public", subnet_type=aws_ec2.SubnetType.PUBLIC, map_public_ip_on_launch=False
        )
    yield aws_ec2.SubnetConfiguration(
        name="Private",
        subnet_type=aws_ec2.SubnetType.PRIVATE_WITH_EGRESS
        if network.nat_gateways
        else aws_ec2.SubnetType.PRIVATE_ISOLATED,
    )


def _place(subnet: aws_ec2.ISubnet) -> None:
    """Use the property for zone ids if the zone is one; the L2 construct supports names only."""
    resource = subnet.node.default_child
    zone = subnet.availability_zone
    if isinstance(resource, aws_ec2.CfnSubnet) and is_zone_id(zone):
        resource.availability_zone, resource.availability_zone_id = None, zone


def _nat_gateway_ids(vpc: aws_ec2.Vpc) -> Iterator[tuple[str, str]]:
    """Yield zone and id of each NAT gateway, which the L2 construct does not expose."""
    for subnet in vpc.public_subnets:
        gateway = subnet.node.try_find_child("NATGateway")
        if isinstance(gateway, aws_ec2.CfnNatGateway):
            yield subnet.availability_zone, gateway.ref


def _add_secondary_blocks(
    vpc: aws_ec2.Vpc, network: ResolvedNetwork, subnets: Sequence[aws_ec2.ISubnet]
) -> None:
    """Associate the secondary blocks, one after the other, before their subnets."""
    last: aws_ec2.CfnVPCCidrBlock | None = None
    for number, cidr in enumerate(network.secondary_cidrs, start=1):
        block = aws_ec2.CfnVPCCidrBlock(
            vpc, f"SecondaryBlock{number}", vpc_id=vpc.vpc_id, cidr_block=str(cidr)
        )
        if last:
            block.add_resource_dependency(last)
        last = block
    if last:
        for subnet in subnets:
            subnet.node.add_dependency(last)
