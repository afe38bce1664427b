"""Permissions of what SageMaker runs beside the cluster: each service has a role of its own.

They are no permissions of nodes; a boundary must leave room for them, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from slurmpod.deploy.permissions.agents import new_interfaces, own_interfaces
from slurmpod.deploy.permissions.data import ECR_PULL, S3_ACTIONS, S3_KEYS
from slurmpod.deploy.permissions.permission import (
    Grant,
    InNetwork,
    Permission,
    Target,
    on_all,
)
from slurmpod.environment.service_types import has_own_disks
from slurmpod.resolve import Resolved, ResolvedEndpoint, ResolvedNotebook
from slurmpod.resolve.services import ENDPOINT_LOGS

GUIDE = "https://docs.aws.amazon.com/sagemaker/latest/dg/"
MODEL_ROLE = f"{GUIDE}sagemaker-roles.html#sagemaker-roles-createmodel-perms"
KEYS_OF_VOLUMES = f"{GUIDE}encryption-at-rest.html"
SERVING = "SageMaker, for the instances of the endpoint"
METRICS = "AWS/SageMaker"
DESCRIBE_NETWORK = (
    "ec2:DescribeDhcpOptions",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcs",
)


@dataclass(frozen=True, kw_only=True)
class EndpointScope(InNetwork):
    """The subject of the endpoint's permissions: its model, its image, its log."""

    endpoint: ResolvedEndpoint


def endpoint_scope(
    resolved: Resolved,
    endpoint: ResolvedEndpoint,
    *,
    subnet_ids: tuple[str, ...],
    security_group_ids: tuple[str, ...],
) -> EndpointScope:
    """Return what the endpoint is in an environment; the rest is known to a deployment only."""
    return EndpointScope(
        aws_partition=resolved.aws_partition,
        region=resolved.region,
        account=resolved.account,
        subnet_ids=subnet_ids,
        security_group_ids=security_group_ids,
        endpoint=endpoint,
    )


def endpoint_grants(scope: EndpointScope) -> tuple[Grant, ...]:
    """Return what the endpoint's role is allowed."""
    return tuple(
        Grant(permission, target) for permission in ENDPOINT for target in permission.targets(scope)
    )


def grants_of_services(resolved: Resolved) -> Iterator[Grant]:
    """Yield what the roles of services do; ids that a deployment makes up are left open."""
    if resolved.endpoint:
        scope = endpoint_scope(
            resolved, resolved.endpoint, subnet_ids=("*",), security_group_ids=("*",)
        )
        yield from endpoint_grants(scope)
    if resolved.notebook:
        yield from notebook_grants(
            notebook_scope(
                resolved,
                resolved.notebook,
                subnet_ids=("*",),
                security_group_ids=("*",),
                kms_key_arn=resolved.notebook.settings.kms_key_arn or resolved.arn("kms", "key/*"),
            )
        )


@dataclass(frozen=True, kw_only=True)
class NotebookScope(InNetwork):
    """The subject of the notebook's permissions: itself, its key, and the endpoint, if any."""

    notebook: ResolvedNotebook
    endpoint: ResolvedEndpoint | None
    kms_key_arn: str


def notebook_scope(
    resolved: Resolved,
    notebook: ResolvedNotebook,
    *,
    subnet_ids: tuple[str, ...],
    security_group_ids: tuple[str, ...],
    kms_key_arn: str,
) -> NotebookScope:
    """Return what the notebook instance is in an environment."""
    return NotebookScope(
        aws_partition=resolved.aws_partition,
        region=resolved.region,
        account=resolved.account,
        subnet_ids=subnet_ids,
        security_group_ids=security_group_ids,
        notebook=notebook,
        endpoint=resolved.endpoint,
        kms_key_arn=kms_key_arn,
    )


def notebook_grants(scope: NotebookScope) -> tuple[Grant, ...]:
    """Return what the notebook's role is allowed."""
    return tuple(
        Grant(permission, target) for permission in NOTEBOOK for target in permission.targets(scope)
    )


def _model_objects(scope: EndpointScope) -> Iterator[Target]:
    endpoint = scope.endpoint
    objects = f"{endpoint.model_key}*" if endpoint.is_folder else endpoint.model_key
    yield Target((f"{scope.bucket_arn(endpoint.model_bucket)}/{objects}",))


def _model_folder(scope: EndpointScope) -> Iterator[Target]:
    endpoint = scope.endpoint
    if endpoint.is_folder:
        below = {"StringLike": {"s3:prefix": f"{endpoint.model_key}*"}}
        yield Target((scope.bucket_arn(endpoint.model_bucket),), below)


def _model_key(scope: EndpointScope) -> Iterator[Target]:
    if key := scope.endpoint.settings.model_data_kms_key_arn:
        yield Target((key,))


def _repository(scope: EndpointScope) -> Iterator[Target]:
    image = scope.endpoint.image
    registry = f"arn:{scope.aws_partition}:ecr:{image.region}:{image.account}"
    yield Target((f"{registry}:repository/{image.repository}",))


def _log_streams(scope: EndpointScope) -> Iterator[Target]:
    yield Target((scope.arn("logs", f"log-group:{scope.endpoint.log_group}:log-stream:*"),))


def _metrics(_: EndpointScope) -> Iterator[Target]:
    for number, namespace in enumerate((METRICS, ENDPOINT_LOGS), start=1):
        yield Target(("*",), {"StringEquals": {"cloudwatch:namespace": namespace}}, number)


def _volume_key(scope: EndpointScope) -> Iterator[Target]:
    settings = scope.endpoint.settings
    if settings.kms_key_arn and not has_own_disks(settings.instance_type):
        yield Target((settings.kms_key_arn,))


ENDPOINT: tuple[Permission[EndpointScope], ...] = (
    Permission(
        policy="Endpoint",
        sid="ReadModel",
        actions=("s3:GetObject",),
        resource="the model: one archive, or all objects of its folder",
        needed_by=SERVING,
        why="Instances download the model when they start.",
        source=MODEL_ROLE,
        targets=_model_objects,
    ),
    Permission(
        policy="Endpoint",
        sid="ListModel",
        actions=("s3:ListBucket",),
        resource="the bucket of the model, where that is a folder",
        condition="`s3:prefix` is below the folder",
        needed_by=SERVING,
        why="Instances find the files of the model.",
        source=S3_ACTIONS,
        targets=_model_folder,
    ),
    Permission(
        policy="Endpoint",
        sid="UseKeyOfModel",
        actions=("kms:Decrypt",),
        resource="the key of the model's bucket, where it is yours",
        needed_by=SERVING,
        why="S3 decrypts objects with the permissions of who reads them.",
        source=S3_KEYS,
        targets=_model_key,
    ),
    Permission(
        policy="Endpoint",
        sid="PullImage",
        actions=(
            "ecr:BatchCheckLayerAvailability",
            "ecr:BatchGetImage",
            "ecr:GetDownloadUrlForLayer",
        ),
        resource="the repository of the image, of whatever account",
        needed_by=SERVING,
        why="Instances pull the container image.",
        source=MODEL_ROLE,
        targets=_repository,
    ),
    Permission(
        policy="Endpoint",
        sid="LogInToRegistry",
        actions=("ecr:GetAuthorizationToken",),
        resource="`*`: IAM knows no narrower one",
        needed_by=SERVING,
        why="Images are pulled with a token of the registry.",
        source=ECR_PULL,
        targets=on_all,
    ),
    Permission(
        policy="Endpoint",
        sid="WriteLog",
        actions=("logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"),
        resource="log streams of the endpoint's log group, which the stack makes",
        needed_by=SERVING,
        why="What the container writes is kept.",
        source=MODEL_ROLE,
        targets=_log_streams,
    ),
    Permission(
        policy="Endpoint",
        sid="PutMetrics",
        actions=("cloudwatch:PutMetricData",),
        resource="`*`: IAM knows no narrower one",
        condition=f"`cloudwatch:namespace` is {METRICS} or {ENDPOINT_LOGS}",
        needed_by=SERVING,
        why="Alarms and scaling follow the requests.",
        source=MODEL_ROLE,
        targets=_metrics,
    ),
    Permission(
        policy="Endpoint",
        sid="CreateNetworkInterfaces",
        actions=("ec2:CreateNetworkInterface",),
        resource="network interfaces of the account and Region, in the environment's subnets, with "
        "its security groups only",
        needed_by=SERVING,
        why="Interfaces put the container into your VPC.",
        source=MODEL_ROLE,
        targets=new_interfaces,
    ),
    Permission(
        policy="Endpoint",
        sid="ManageNetworkInterfaces",
        actions=(
            "ec2:CreateNetworkInterfacePermission",
            "ec2:DeleteNetworkInterface",
            "ec2:DeleteNetworkInterfacePermission",
        ),
        resource="network interfaces of the account and Region",
        needed_by=SERVING,
        why="SageMaker lets its instance use the interface, and removes it in the end.",
        source=MODEL_ROLE,
        targets=own_interfaces,
    ),
    Permission(
        policy="Endpoint",
        sid="DescribeNetwork",
        actions=DESCRIBE_NETWORK,
        resource="`*`: IAM knows no narrower one",
        needed_by=SERVING,
        why="SageMaker looks at the subnets and security groups that the model names.",
        source=MODEL_ROLE,
        targets=on_all,
    ),
    Permission(
        policy="Endpoint",
        sid="UseKeyOfVolumes",
        actions=("kms:CreateGrant", "kms:DescribeKey"),
        resource="the key of the volumes, where it is yours",
        needed_by=SERVING,
        why="SageMaker encrypts volumes with your key.",
        source=KEYS_OF_VOLUMES,
        targets=_volume_key,
    ),
)
NOTEBOOK_LOGS = "/aws/sagemaker/NotebookInstances"
NOTEBOOK_ROLE = f"{GUIDE}sagemaker-roles.html#sagemaker-roles-createnotebookinstance-perms"
RUNNING = "SageMaker, for the notebook instance"


def _itself(scope: NotebookScope) -> Iterator[Target]:
    yield Target((scope.arn("sagemaker", f"notebook-instance/{scope.notebook.name}"),))


def _endpoint_to_call(scope: NotebookScope) -> Iterator[Target]:
    if scope.endpoint:
        yield Target((scope.arn("sagemaker", f"endpoint/{scope.endpoint.name}"),))


def _notebook_log_group(scope: NotebookScope) -> Iterator[Target]:
    yield Target((scope.arn("logs", f"log-group:{NOTEBOOK_LOGS}"),))


def _notebook_streams(scope: NotebookScope) -> Iterator[Target]:
    streams = f"log-group:{NOTEBOOK_LOGS}:log-stream:{scope.notebook.name}/*"
    yield Target((scope.arn("logs", streams),))


def _notebook_key(scope: NotebookScope) -> Iterator[Target]:
    yield Target((scope.kms_key_arn,))


NOTEBOOK: tuple[Permission[NotebookScope], ...] = (
    Permission(
        policy="Notebook",
        sid="StopItself",
        actions=("sagemaker:StopNotebookInstance",),
        resource="the notebook instance itself",
        needed_by="the timer on the notebook instance",
        why="It stops when nobody uses it.",
        source=NOTEBOOK_ROLE,
        targets=_itself,
    ),
    Permission(
        policy="Notebook",
        sid="CallEndpoint",
        actions=("sagemaker:InvokeEndpoint",),
        resource="the endpoint of the environment, if there is one",
        needed_by="notebooks",
        why="People try the model that is served.",
        source="https://docs.aws.amazon.com/sagemaker/latest/APIReference/"
        "API_runtime_InvokeEndpoint.html",
        targets=_endpoint_to_call,
    ),
    Permission(
        policy="Notebook",
        sid="CreateLogGroup",
        actions=("logs:CreateLogGroup",),
        resource=f"the log group {NOTEBOOK_LOGS}, which all notebook instances share",
        needed_by=RUNNING,
        why="What Jupyter and the script at the start write is kept.",
        source=NOTEBOOK_ROLE,
        targets=_notebook_log_group,
    ),
    Permission(
        policy="Notebook",
        sid="WriteLog",
        actions=("logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"),
        resource="log streams of this notebook instance there",
        needed_by=RUNNING,
        why="What Jupyter and the script at the start write is kept.",
        source=NOTEBOOK_ROLE,
        targets=_notebook_streams,
    ),
    Permission(
        policy="Notebook",
        sid="CreateNetworkInterfaces",
        actions=("ec2:CreateNetworkInterface",),
        resource="network interfaces of the account and Region, in the environment's subnets, with "
        "its security groups only",
        needed_by=RUNNING,
        why="An interface puts the instance into your VPC.",
        source=NOTEBOOK_ROLE,
        targets=new_interfaces,
    ),
    Permission(
        policy="Notebook",
        sid="ManageNetworkInterfaces",
        actions=(
            "ec2:CreateNetworkInterfacePermission",
            "ec2:DeleteNetworkInterface",
            "ec2:DeleteNetworkInterfacePermission",
        ),
        resource="network interfaces of the account and Region",
        needed_by=RUNNING,
        why="SageMaker lets its instance use the interface, and removes it in the end.",
        source=NOTEBOOK_ROLE,
        targets=own_interfaces,
    ),
    Permission(
        policy="Notebook",
        sid="DescribeNetwork",
        actions=DESCRIBE_NETWORK,
        resource="`*`: IAM knows no narrower one",
        needed_by=RUNNING,
        why="SageMaker looks at the subnet and the security groups.",
        source=NOTEBOOK_ROLE,
        targets=on_all,
    ),
    Permission(
        policy="Notebook",
        sid="UseKeyOfVolume",
        actions=("kms:CreateGrant", "kms:DescribeKey"),
        resource="the key of the volume",
        needed_by=RUNNING,
        why="SageMaker encrypts the volume with it.",
        source=KEYS_OF_VOLUMES,
        targets=_notebook_key,
    ),
)

SERVICES: Mapping[str, tuple[Permission[Any], ...]] = {
    "The endpoint": ENDPOINT,
    "The notebook instance": NOTEBOOK,
}
"""The permissions of each service's role, by what they are of."""
