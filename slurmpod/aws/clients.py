"""The SDK's clients for one account and Region, shared by everything that calls AWS."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, TypeVar

from slurmpod.aws.errors import as_unavailable
from slurmpod.environment.names import InAccount

if TYPE_CHECKING:
    import boto3
    from types_boto3_cloudformation import CloudFormationClient
    from types_boto3_fsx import FSxClient
    from types_boto3_iam import IAMClient
    from types_boto3_logs import CloudWatchLogsClient
    from types_boto3_s3 import S3Client
    from types_boto3_sagemaker import SageMakerClient
    from types_boto3_ssm import SSMClient
    from types_boto3_sts import STSClient


_FIRST_REGIONS = {
    "aws": "us-east-1",
    "aws-cn": "cn-north-1",
    "aws-eusc": "eusc-de-east-1",
    "aws-iso": "us-iso-east-1",
    "aws-iso-b": "us-isob-east-1",
    "aws-iso-e": "eu-isoe-west-1",
    "aws-iso-f": "us-isof-south-1",
    "aws-us-gov": "us-gov-west-1",
}
"""The Region of each partition that is always enabled."""


def clients_of(region: str) -> AwsClients:
    """Return clients with the credentials and endpoints of the user's AWS settings.

    Raises:
        AwsUnavailable: The settings name a profile that does not exist.
    """
    import boto3  # its import takes longer than all of validate

    with as_unavailable("use the AWS settings of this shell"):
        return AwsClients(boto3.session.Session(region_name=region))


LOOKUP_ROLE = "cdk-hnb659fds-lookup-role"
"""Prefix of the lookup role that `cdk bootstrap` creates (AWS CDK developer guide,
"Bootstrapping", with the default qualifier)."""


def lookup_clients(clients: AwsClients, place: InAccount) -> AwsClients:
    """Return clients that use the CDK's lookup role in an account and Region.

    Raises:
        AwsUnavailable: The caller may not assume the role, or it does not exist.
    """
    import boto3  # its import takes longer than all of validate

    role = f"{LOOKUP_ROLE}-{place.account}-{place.region}"
    with as_unavailable(f"assume {role}"):
        found = clients.sts.assume_role(
            RoleArn=f"arn:{place.aws_partition}:iam::{place.account}:role/{role}",
            RoleSessionName="slurmpod",
        )["Credentials"]
        session = boto3.session.Session(
            aws_access_key_id=found["AccessKeyId"],
            aws_secret_access_key=found["SecretAccessKey"],
            aws_session_token=found["SessionToken"],
            region_name=place.region,
        )
    return AwsClients(session, clients.endpoint_url)


def usual_region() -> str:
    """Return the Region of the user's settings; empty if they name none.

    Raises:
        AwsUnavailable: The settings name a profile that does not exist.
    """
    import boto3  # its import takes longer than all of validate

    with as_unavailable("use the AWS settings of this shell"):
        return boto3.session.Session().region_name or ""


T = TypeVar("T")
_MAKING = threading.Lock()


def _client(make: Callable[[AwsClients], T]) -> cached_property[T]:
    """Create a client on first use, one at a time.

    A boto3 session is not thread-safe, its clients are (boto3 documentation,
    "Multithreading or multiprocessing with clients").
    """

    @wraps(make)
    def made(clients: AwsClients) -> T:
        with _MAKING:
            return make(clients)

    return cached_property(made)


@dataclass(frozen=True)
class AwsClients:
    """Clients of one account and Region, each created on first use.

    `session` has the credentials and Region; `endpoint_url` replaces AWS's own endpoints.
    """

    session: boto3.session.Session
    endpoint_url: str | None = None

    @_client
    def budgets(self) -> Any:
        """AWS Budgets."""
        return self.session.client("budgets", endpoint_url=self.endpoint_url)

    @_client
    def cloud_control(self) -> Any:
        """AWS Cloud Control API."""
        return self.session.client("cloudcontrol", endpoint_url=self.endpoint_url)

    @_client
    def cloudformation(self) -> CloudFormationClient:
        """AWS CloudFormation."""
        return self.session.client("cloudformation", endpoint_url=self.endpoint_url)

    @_client
    def cloudwatch(self) -> Any:
        """Amazon CloudWatch."""
        return self.session.client("cloudwatch", endpoint_url=self.endpoint_url)

    @_client
    def cost_explorer(self) -> Any:
        """AWS Cost Explorer, which covers all Regions."""
        return self.session.client("ce", endpoint_url=self.endpoint_url)

    @_client
    def ec2(self) -> Any:
        """Amazon EC2."""
        return self.session.client("ec2", endpoint_url=self.endpoint_url)

    @_client
    def ecr(self) -> Any:
        """Amazon Elastic Container Registry."""
        return self.session.client("ecr", endpoint_url=self.endpoint_url)

    @_client
    def fsx(self) -> FSxClient:
        """Amazon FSx."""
        return self.session.client("fsx", endpoint_url=self.endpoint_url)

    @_client
    def grafana(self) -> Any:
        """Amazon Managed Grafana."""
        return self.session.client("grafana", endpoint_url=self.endpoint_url)

    @_client
    def iam(self) -> IAMClient:
        """AWS IAM."""
        return self.session.client("iam", endpoint_url=self.endpoint_url)

    @_client
    def kms(self) -> Any:
        """AWS KMS."""
        return self.session.client("kms", endpoint_url=self.endpoint_url)

    @_client
    def logs(self) -> CloudWatchLogsClient:
        """Amazon CloudWatch Logs."""
        return self.session.client("logs", endpoint_url=self.endpoint_url)

    @_client
    def pricing(self) -> Any:
        """AWS Price List, whose endpoint in us-east-1 covers all Regions."""
        return self.session.client(
            "pricing", region_name="us-east-1", endpoint_url=self.endpoint_url
        )

    @_client
    def regions(self) -> Any:
        """Amazon EC2 in a Region that every account can use, to query the others."""
        partition = self.session.get_partition_for_region(self.session.region_name)
        return self.session.client(
            "ec2", region_name=_FIRST_REGIONS[partition], endpoint_url=self.endpoint_url
        )

    @_client
    def rds(self) -> Any:
        """Amazon RDS."""
        return self.session.client("rds", endpoint_url=self.endpoint_url)

    @_client
    def s3(self) -> S3Client:
        """Amazon S3."""
        return self.session.client("s3", endpoint_url=self.endpoint_url)

    @_client
    def sagemaker(self) -> SageMakerClient:
        """Amazon SageMaker."""
        return self.session.client("sagemaker", endpoint_url=self.endpoint_url)

    @_client
    def secrets_manager(self) -> Any:
        """AWS Secrets Manager."""
        return self.session.client("secretsmanager", endpoint_url=self.endpoint_url)

    @_client
    def service_quotas(self) -> Any:
        """Service Quotas."""
        return self.session.client("service-quotas", endpoint_url=self.endpoint_url)

    @_client
    def sns(self) -> Any:
        """Amazon SNS."""
        return self.session.client("sns", endpoint_url=self.endpoint_url)

    @_client
    def sso(self) -> Any:
        """AWS IAM Identity Center."""
        return self.session.client("sso-admin", endpoint_url=self.endpoint_url)

    @_client
    def ssm(self) -> SSMClient:
        """AWS Systems Manager."""
        return self.session.client("ssm", endpoint_url=self.endpoint_url)

    @_client
    def sts(self) -> STSClient:
        """AWS STS."""
        return self.session.client("sts", endpoint_url=self.endpoint_url)
