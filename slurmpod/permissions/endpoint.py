"""Permissions of the role of an endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY

from slurmpod.environment.service_types import has_own_disks
from slurmpod.permissions.agents import GUIDE
from slurmpod.permissions.data import ECR_PULL, S3_ACTIONS, S3_KEYS
from slurmpod.permissions.instances_of_sagemaker import in_your_network, use_of_key
from slurmpod.permissions.permission import (
    Grant,
    InNetwork,
    Permission,
    Policy,
    Target,
    grants_of,
    on_all,
)
from slurmpod.resolve import Resolved, ResolvedEndpoint
from slurmpod.resolve.services import ENDPOINT_LOGS

MODEL_ROLE = f"{GUIDE}sagemaker-roles.html#sagemaker-roles-createmodel-perms"
SERVING = "SageMaker, for the instances of the endpoint"
METRICS = "AWS/SageMaker"


class EndpointScope(InNetwork):
    """The subject of the endpoint's permissions: its model, its image, its log."""

    _: KW_ONLY
    endpoint: ResolvedEndpoint


def endpoint_scope(
    resolved: Resolved,
    endpoint: ResolvedEndpoint,
    *,
    subnet_ids: tuple[str, ...],
    security_group_ids: tuple[str, ...],
) -> EndpointScope:
    """Return an environment's endpoint; the rest is known only to a deployment."""
    return EndpointScope(
        aws_partition=resolved.aws_partition,
        region=resolved.region,
        account=resolved.account,
        subnet_ids=subnet_ids,
        security_group_ids=security_group_ids,
        endpoint=endpoint,
    )


def endpoint_grants(scope: EndpointScope) -> tuple[Grant, ...]:
    """Return the permissions of the endpoint's role."""
    return grants_of(ENDPOINT, scope)


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


_ENDPOINT = Policy("Endpoint", needed_by=SERVING, source=MODEL_ROLE)

ENDPOINT: tuple[Permission[EndpointScope], ...] = (
    _ENDPOINT.allows(
        sid="ReadModel",
        actions=("s3:GetObject",),
        resource="the model: one archive, or all objects of its folder",
        why="Instances download the model when they start.",
        targets=_model_objects,
    ),
    _ENDPOINT.allows(
        sid="ListModel",
        actions=("s3:ListBucket",),
        resource="the bucket of the model, if that is a folder",
        condition="`s3:prefix` is below the folder",
        why="Instances find the files of the model.",
        source=S3_ACTIONS,
        targets=_model_folder,
    ),
    _ENDPOINT.allows(
        sid="UseKeyOfModel",
        actions=("kms:Decrypt",),
        resource="the key of the model's bucket, if it is yours",
        why="S3 decrypts objects with the permissions of the reader.",
        source=S3_KEYS,
        targets=_model_key,
    ),
    _ENDPOINT.allows(
        sid="PullImage",
        actions=(
            "ecr:BatchCheckLayerAvailability",
            "ecr:BatchGetImage",
            "ecr:GetDownloadUrlForLayer",
        ),
        resource="the repository of the image, in any account",
        why="Instances pull the container image.",
        targets=_repository,
    ),
    _ENDPOINT.allows(
        sid="LogInToRegistry",
        actions=("ecr:GetAuthorizationToken",),
        resource="`*`: IAM supports no narrower resource",
        why="Pulling an image needs a token of the registry.",
        source=ECR_PULL,
        targets=on_all,
    ),
    _ENDPOINT.allows(
        sid="WriteLog",
        actions=("logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"),
        resource="log streams of the endpoint's log group, which the stack creates",
        why="The container's output is logged.",
        targets=_log_streams,
    ),
    _ENDPOINT.allows(
        sid="PutMetrics",
        actions=("cloudwatch:PutMetricData",),
        resource="`*`: IAM supports no narrower resource",
        condition=f"`cloudwatch:namespace` is {METRICS} or {ENDPOINT_LOGS}",
        why="Alarms and scaling use the metrics of requests.",
        targets=_metrics,
    ),
    *in_your_network(
        _ENDPOINT,
        why_interfaces="Interfaces put the container into your VPC.",
        why_describing="SageMaker reads the subnets and security groups that the model names.",
    ),
    use_of_key(
        _ENDPOINT,
        "UseKeyOfVolumes",
        resource="the key of the volumes, if it is yours",
        why="SageMaker encrypts volumes with your key.",
        targets=_volume_key,
    ),
)
