"""The resource types that the embedded AWS can create. Any other fails the deployment by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slurmpod.rehearsal.cloud.cloudformation.template import TemplateError
from slurmpod.rehearsal.cloud.resources.cdk_metadata import CdkMetadata
from slurmpod.rehearsal.cloud.resources.custom_bucket_deployment import BucketDeployment
from slurmpod.rehearsal.cloud.resources.custom_restrict_default_sg import (
    RestrictDefaultSecurityGroup,
)
from slurmpod.rehearsal.cloud.resources.ec2_flow_log import FlowLog
from slurmpod.rehearsal.cloud.resources.ec2_internet_gateway import (
    InternetGateway,
    VpcGatewayAttachment,
)
from slurmpod.rehearsal.cloud.resources.ec2_nat_gateway import ElasticIp, NatGateway
from slurmpod.rehearsal.cloud.resources.ec2_route_table import (
    Route,
    RouteTable,
    SubnetRouteTableAssociation,
)
from slurmpod.rehearsal.cloud.resources.ec2_security_group import (
    SecurityGroup,
    SecurityGroupEgress,
    SecurityGroupIngress,
)
from slurmpod.rehearsal.cloud.resources.ec2_subnet import Subnet
from slurmpod.rehearsal.cloud.resources.ec2_vpc import Vpc
from slurmpod.rehearsal.cloud.resources.ec2_vpc_endpoint import VpcEndpoint
from slurmpod.rehearsal.cloud.resources.ecr_repository import Repository
from slurmpod.rehearsal.cloud.resources.fsx_file_system import FileSystem
from slurmpod.rehearsal.cloud.resources.iam_policy import ManagedPolicy, Policy
from slurmpod.rehearsal.cloud.resources.iam_role import Role
from slurmpod.rehearsal.cloud.resources.lambda_function import Function
from slurmpod.rehearsal.cloud.resources.lambda_layer_version import LayerVersion
from slurmpod.rehearsal.cloud.resources.logs_log_group import LogGroup
from slurmpod.rehearsal.cloud.resources.s3_bucket import Bucket
from slurmpod.rehearsal.cloud.resources.s3_bucket_policy import BucketPolicy
from slurmpod.rehearsal.cloud.resources.sagemaker_cluster import Cluster
from slurmpod.rehearsal.cloud.resources.ssm_parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.resources.provider import Provider

_PROVIDERS: Final = (
    BucketDeployment(),
    Bucket(),
    BucketPolicy(),
    CdkMetadata(),
    Cluster(),
    ElasticIp(),
    FileSystem(),
    FlowLog(),
    Function(),
    InternetGateway(),
    LayerVersion(),
    LogGroup(),
    ManagedPolicy(),
    NatGateway(),
    Parameter(),
    Policy(),
    Repository(),
    RestrictDefaultSecurityGroup(),
    Role(),
    Route(),
    RouteTable(),
    SecurityGroup(),
    SecurityGroupEgress(),
    SecurityGroupIngress(),
    Subnet(),
    SubnetRouteTableAssociation(),
    Vpc(),
    VpcEndpoint(),
    VpcGatewayAttachment(),
)

PROVIDERS: Final[Mapping[str, Provider]] = {provider.type: provider for provider in _PROVIDERS}
"""Every supported resource type, by CloudFormation's name."""


def provider_for(logical_id: str, resource_type: str) -> Provider:
    """Return the provider of a type; raises TemplateError for an unsupported one."""
    if resource_type not in PROVIDERS:
        raise TemplateError(f"{resource_type} ({logical_id}) is not supported by the embedded AWS")
    return PROVIDERS[resource_type]
