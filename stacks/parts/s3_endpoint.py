"""The way to S3 that costs nothing: a gateway endpoint in the subnets' route tables."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Aws, aws_ec2
from constructs import Construct

from slurmpod.resolve import Resolved
from slurmpod_cdk.parts.endpoint_policies import s3_policy


class S3Endpoint(Construct):
    """Traffic to S3 goes through it and not through a NAT gateway, which costs per GB.

    In a closed network it leads to the buckets that the environment names and to no others.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        resolved: Resolved,
        vpc_id: str,
        route_table_ids: Sequence[str],
    ) -> None:
        super().__init__(scope, id_)
        aws_ec2.CfnVPCEndpoint(
            self,
            "Resource",
            vpc_id=vpc_id,
            vpc_endpoint_type="Gateway",
            service_name=f"com.amazonaws.{Aws.REGION}.s3",
            route_table_ids=route_table_ids,
            policy_document=s3_policy(resolved) if resolved.network.closed else None,
        )
