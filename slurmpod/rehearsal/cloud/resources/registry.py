"""The resource types that the embedded AWS can create. Any other fails the deployment by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slurmpod.rehearsal.cloud.cloudformation.template import TemplateError
from slurmpod.rehearsal.cloud.resources.aps_rule_groups_namespace import RuleGroupsNamespace
from slurmpod.rehearsal.cloud.resources.aps_workspace import Workspace as PrometheusWorkspace
from slurmpod.rehearsal.cloud.resources.budgets_budget import Budget
from slurmpod.rehearsal.cloud.resources.cdk_metadata import CdkMetadata
from slurmpod.rehearsal.cloud.resources.cloudwatch_alarm import Alarm
from slurmpod.rehearsal.cloud.resources.cloudwatch_dashboard import Dashboard
from slurmpod.rehearsal.cloud.resources.custom_bucket_deployment import BucketDeployment
from slurmpod.rehearsal.cloud.resources.custom_cluster_logs import ClusterLogs
from slurmpod.rehearsal.cloud.resources.custom_lustre_root_squash import LustreRootSquash
from slurmpod.rehearsal.cloud.resources.custom_restrict_default_sg import (
    RestrictDefaultSecurityGroup,
)
from slurmpod.rehearsal.cloud.resources.custom_s3_auto_delete_objects import AutoDeleteObjects
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
from slurmpod.rehearsal.cloud.resources.ec2_vpc_cidr_block import VpcCidrBlock
from slurmpod.rehearsal.cloud.resources.ec2_vpc_endpoint import VpcEndpoint
from slurmpod.rehearsal.cloud.resources.ecr_repository import Repository
from slurmpod.rehearsal.cloud.resources.events_rule import Rule
from slurmpod.rehearsal.cloud.resources.fsx_data_repository_association import (
    DataRepositoryAssociation,
)
from slurmpod.rehearsal.cloud.resources.fsx_file_system import FileSystem
from slurmpod.rehearsal.cloud.resources.grafana_workspace import Workspace as GrafanaWorkspace
from slurmpod.rehearsal.cloud.resources.iam_policy import ManagedPolicy, Policy
from slurmpod.rehearsal.cloud.resources.iam_role import Role
from slurmpod.rehearsal.cloud.resources.kms_key import Alias, Key
from slurmpod.rehearsal.cloud.resources.lambda_function import Function
from slurmpod.rehearsal.cloud.resources.lambda_layer_version import LayerVersion
from slurmpod.rehearsal.cloud.resources.lambda_permission import Permission
from slurmpod.rehearsal.cloud.resources.logs_log_group import LogGroup
from slurmpod.rehearsal.cloud.resources.logs_metric_filter import MetricFilter
from slurmpod.rehearsal.cloud.resources.rds_db_instance import DbInstance
from slurmpod.rehearsal.cloud.resources.rds_groups import DbParameterGroup, DbSubnetGroup
from slurmpod.rehearsal.cloud.resources.s3_bucket import Bucket
from slurmpod.rehearsal.cloud.resources.s3_bucket_policy import BucketPolicy
from slurmpod.rehearsal.cloud.resources.sagemaker_cluster import Cluster
from slurmpod.rehearsal.cloud.resources.secretsmanager_secret import Secret
from slurmpod.rehearsal.cloud.resources.sns_topic import Subscription, Topic, TopicPolicy
from slurmpod.rehearsal.cloud.resources.sqs_queue import Queue, QueuePolicy
from slurmpod.rehearsal.cloud.resources.ssm_document import Document
from slurmpod.rehearsal.cloud.resources.ssm_parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.resources.provider import Provider

_PROVIDERS: Final = (
    Alarm(),
    Alias(),
    AutoDeleteObjects(),
    Bucket(),
    BucketDeployment(),
    BucketPolicy(),
    Budget(),
    CdkMetadata(),
    Cluster(),
    ClusterLogs(),
    Dashboard(),
    DataRepositoryAssociation(),
    DbInstance(),
    DbParameterGroup(),
    DbSubnetGroup(),
    Document(),
    ElasticIp(),
    FileSystem(),
    FlowLog(),
    Function(),
    GrafanaWorkspace(),
    InternetGateway(),
    Key(),
    LayerVersion(),
    LogGroup(),
    LustreRootSquash(),
    ManagedPolicy(),
    MetricFilter(),
    NatGateway(),
    Parameter(),
    Permission(),
    Policy(),
    PrometheusWorkspace(),
    Queue(),
    QueuePolicy(),
    Repository(),
    RestrictDefaultSecurityGroup(),
    Role(),
    Route(),
    RouteTable(),
    Rule(),
    RuleGroupsNamespace(),
    Secret(),
    SecurityGroup(),
    SecurityGroupEgress(),
    SecurityGroupIngress(),
    Subnet(),
    SubnetRouteTableAssociation(),
    Subscription(),
    Topic(),
    TopicPolicy(),
    Vpc(),
    VpcCidrBlock(),
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
