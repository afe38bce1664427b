"""The record of a VPC's traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import RemovalPolicy, aws_ec2, aws_kms, aws_logs

from slurmpod.environment.network import FlowLogs

if TYPE_CHECKING:
    from constructs import Construct

TRAFFIC_TYPES = {
    "ALL": aws_ec2.FlowLogTrafficType.ALL,
    "REJECT": aws_ec2.FlowLogTrafficType.REJECT,
}


def add_flow_logs(scope: Construct, vpc: aws_ec2.Vpc, settings: FlowLogs) -> None:
    """Record the traffic of `vpc` in a log group, which outlives its stack."""
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
