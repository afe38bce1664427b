"""Whether a resource is there: what CloudFormation asks before an import."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from botocore.exceptions import ClientError

from slurmpod.rehearsal.cloud.resources.provider import ProviderError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.clients import Clients

_READS: Final[Mapping[str, tuple[str, str, str]]] = {
    "AWS::APS::Workspace": ("amp", "list_tags_for_resource", "resourceArn"),
    "AWS::EC2::InternetGateway": ("ec2", "describe_internet_gateways", "InternetGatewayIds"),
    "AWS::EC2::RouteTable": ("ec2", "describe_route_tables", "RouteTableIds"),
    "AWS::EC2::SecurityGroup": ("ec2", "describe_security_groups", "GroupIds"),
    "AWS::EC2::Subnet": ("ec2", "describe_subnets", "SubnetIds"),
    "AWS::EC2::VPC": ("ec2", "describe_vpcs", "VpcIds"),
    "AWS::KMS::Key": ("kms", "describe_key", "KeyId"),
    "AWS::Logs::LogGroup": ("logs", "describe_log_streams", "logGroupName"),
    "AWS::RDS::DBInstance": ("rds", "describe_db_instances", "DBInstanceIdentifier"),
    "AWS::RDS::DBParameterGroup": ("rds", "describe_db_parameters", "DBParameterGroupName"),
    "AWS::RDS::DBSubnetGroup": ("rds", "describe_db_subnet_groups", "DBSubnetGroupName"),
    "AWS::S3::Bucket": ("s3", "head_bucket", "Bucket"),
    "AWS::SecretsManager::Secret": ("secretsmanager", "describe_secret", "SecretId"),
    "AWS::SNS::Topic": ("sns", "get_topic_attributes", "TopicArn"),
}
"""The call that finds a resource by its id or fails: service, operation, name of the id."""


def require_existing(aws: Clients, resource_type: str, physical_id: str) -> None:
    """Raise ProviderError for a resource that is not there, or of a type that has no import."""
    if not is_there(aws, resource_type, physical_id):
        raise ProviderError(
            f"Resource of type '{resource_type}' with identifier '{physical_id}' was not found."
        )


def is_there(aws: Clients, resource_type: str, physical_id: str) -> bool:
    """Tell whether a resource exists; raises ProviderError for a type that is not looked up."""
    if resource_type not in _READS:
        raise ProviderError(f"{resource_type} cannot be imported in the embedded AWS")
    service, operation, name = _READS[resource_type]
    wanted = [physical_id] if name.endswith("Ids") else physical_id
    try:
        getattr(aws.service(service), operation)(**{name: wanted})
    except ClientError:
        return False
    return True
