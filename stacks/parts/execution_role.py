"""The role that HyperPod assumes for an instance group and that its nodes carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import aws_iam
from constructs import Construct

if TYPE_CHECKING:
    from slurmpod.resolve import Resolved

MANAGED_POLICY = "AmazonSageMakerClusterInstanceRolePolicy"


class ExecutionRole(Construct):
    """What AWS documents for a cluster in the customer's own VPC, and no more.

    Source: SageMaker HyperPod developer guide, "IAM role for SageMaker HyperPod". Where EC2 knows
    resource-level permissions, they are narrowed to this environment.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        resolved: Resolved,
        subnet_id: str,
        security_group_id: str,
    ) -> None:
        super().__init__(scope, id_)
        role = aws_iam.Role(
            self,
            "Role",
            description=f"Nodes of the HyperPod cluster {resolved.name}",
            assumed_by=aws_iam.ServicePrincipal("sagemaker.amazonaws.com"),
            managed_policies=[aws_iam.ManagedPolicy.from_aws_managed_policy_name(MANAGED_POLICY)],
            inline_policies={
                "Network": aws_iam.PolicyDocument(
                    statements=_network_statements(resolved, subnet_id, security_group_id)
                ),
                "FileSystem": aws_iam.PolicyDocument(statements=[_describe_file_systems()]),
                "LifecycleScripts": aws_iam.PolicyDocument(
                    statements=_read_lifecycle_scripts(resolved)
                ),
            },
        )
        self.role_arn = role.role_arn


def _network_statements(
    resolved: Resolved, subnet_id: str, security_group_id: str
) -> list[aws_iam.PolicyStatement]:
    network_interfaces = resolved.arn("ec2", "network-interface/*")
    return [
        aws_iam.PolicyStatement(
            sid="CreateNetworkInterfaces",
            actions=["ec2:CreateNetworkInterface"],
            resources=[
                network_interfaces,
                resolved.arn("ec2", f"subnet/{subnet_id}"),
                resolved.arn("ec2", f"security-group/{security_group_id}"),
            ],
        ),
        aws_iam.PolicyStatement(
            sid="ManageNetworkInterfaces",
            actions=[
                "ec2:CreateNetworkInterfacePermission",
                "ec2:CreateTags",
                "ec2:DeleteNetworkInterface",
                "ec2:DeleteNetworkInterfacePermission",
            ],
            resources=[network_interfaces],
        ),
        aws_iam.PolicyStatement(
            sid="DetachNetworkInterfacesAndDescribeNetwork",
            actions=[
                "ec2:DescribeDhcpOptions",
                "ec2:DescribeNetworkInterfaces",
                "ec2:DescribeSecurityGroups",
                "ec2:DescribeSubnets",
                "ec2:DescribeVpcs",
                "ec2:DetachNetworkInterface",
            ],
            resources=["*"],
        ),
    ]


def _describe_file_systems() -> aws_iam.PolicyStatement:
    """Let Lustre clients ask for the file system's endpoints; without it EFA falls back to TCP."""
    return aws_iam.PolicyStatement(
        sid="DescribeFileSystems", actions=["fsx:DescribeFileSystems"], resources=["*"]
    )


def _read_lifecycle_scripts(resolved: Resolved) -> list[aws_iam.PolicyStatement]:
    bucket = f"arn:{resolved.aws_partition}:s3:::{resolved.lifecycle.bucket}"
    return [
        aws_iam.PolicyStatement(
            sid="ListLifecycleScripts", actions=["s3:ListBucket"], resources=[bucket]
        ),
        aws_iam.PolicyStatement(
            sid="GetLifecycleScripts",
            actions=["s3:GetObject"],
            resources=[f"{bucket}/{resolved.lifecycle.prefix}/*"],
        ),
    ]
