"""Checks of a model's role at CreateModel: it must be able to read the data and pull the image.

SageMaker tries both before it accepts the model. Here IAM's policy simulator evaluates the role, so
policies of buckets and repositories do not count. Data in a bucket outside the embedded account is
not checked. Sources: developer guide, "SageMaker Roles" (CreateModel); the message about model data
as users have quoted it (philschmid/llm-sagemaker-sample, issue 2).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from embedded_aws.clients import Clients
from embedded_aws.errors import ServiceError

if TYPE_CHECKING:
    from types_boto3_iam.type_defs import ContextEntryTypeDef

SERVICE = "sagemaker.amazonaws.com"
PULL = ("ecr:GetDownloadUrlForLayer", "ecr:BatchGetImage", "ecr:BatchCheckLayerAvailability")
IMAGE = re.compile(
    r"(?P<account>\d{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(?:\.cn)?/"
    r"(?P<repository>[^:@]+)(?:[:@].+)?"
)
"""An ECR image; others come from a registry in the VPC and need no permissions of the role."""


def refuse_unreachable(aws: Clients, region: str, given: Mapping[str, Any]) -> None:
    """Raise ValidationException for model data or an image that the role cannot read."""
    role = given.get("ExecutionRoleArn")
    if not role:
        return
    trusted = _is_trusted(aws, role)
    for container in _containers(given):
        if (address := _data(container)) and not (trusted and _reads(aws, role, *address)):
            raise ServiceError("ValidationException", _no_data(address, role, region))
        image = container.get("Image", "")
        if (found := IMAGE.fullmatch(image)) and not (trusted and _pulls(aws, role, found)):
            raise ServiceError("ValidationException", _no_image(image, role))


def _containers(given: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from given.get("Containers", ())
    if "PrimaryContainer" in given:
        yield given["PrimaryContainer"]


def _data(container: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return bucket and key of the data; a key that ends in a slash is a folder."""
    source = container.get("ModelDataSource", {}).get("S3DataSource", {})
    address = container.get("ModelDataUrl") or source.get("S3Uri", "")
    bucket, _, key = address.removeprefix("s3://").partition("/")
    return (bucket, key) if bucket else None


def _is_trusted(aws: Clients, role: str) -> bool:
    """Return whether the role exists and SageMaker may assume it."""
    try:
        trust = aws.iam.get_role(RoleName=role.rpartition("/")[2])["Role"]
    except aws.iam.exceptions.NoSuchEntityException:
        return False
    policy: Any = trust["AssumeRolePolicyDocument"]
    document = json.loads(policy) if isinstance(policy, str) else policy
    return any(
        statement["Effect"] == "Allow" and SERVICE in _listed(statement, "Service")
        for statement in _statements(document)
    )


def _statements(document: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    statements = document["Statement"]
    return [statements] if isinstance(statements, dict) else statements


def _listed(statement: Mapping[str, Any], kind: str) -> Sequence[str]:
    principal = statement.get("Principal", {})
    names = principal.get(kind, ()) if isinstance(principal, dict) else ()
    return [names] if isinstance(names, str) else names


def _reads(aws: Clients, role: str, bucket: str, key: str) -> bool:
    """Return whether the data exists and the role may read it."""
    bucket_arn = f"arn:{aws.partition}:s3:::{bucket}"
    if not _may(aws, role, ("s3:GetObject",), f"{bucket_arn}/{key}"):
        return False
    if key.endswith("/") and not _may(aws, role, ("s3:ListBucket",), bucket_arn, prefix=key):
        return False
    try:
        found = aws.s3.list_objects_v2(Bucket=bucket, Prefix=key, MaxKeys=1)
    except ClientError as error:
        return error.response["Error"]["Code"] == "NoSuchBucket"
    return found["KeyCount"] > 0


def _pulls(aws: Clients, role: str, image: re.Match[str]) -> bool:
    partition = role.split(":")[1]
    registry = f"arn:{partition}:ecr:{image['region']}:{image['account']}"
    return _may(aws, role, PULL, f"{registry}:repository/{image['repository']}") and _may(
        aws, role, ("ecr:GetAuthorizationToken",), "*"
    )


def _may(
    aws: Clients, role: str, actions: Sequence[str], resource: str, *, prefix: str = ""
) -> bool:
    answer = aws.iam.simulate_principal_policy(
        PolicySourceArn=role,
        ActionNames=actions,
        ResourceArns=[resource],
        ContextEntries=[_listed_below(prefix)] if prefix else [],
    )
    return all(each["EvalDecision"] == "allowed" for each in answer["EvaluationResults"])


def _listed_below(prefix: str) -> ContextEntryTypeDef:
    return {
        "ContextKeyName": "s3:prefix",
        "ContextKeyValues": [prefix],
        "ContextKeyType": "string",
    }


def _no_data(address: tuple[str, str], role: str, region: str) -> str:
    return (
        f"Could not access model data at s3://{'/'.join(address)}. Please ensure that the role "
        f'"{role}" exists and that its trust relationship policy allows the action '
        f'"sts:AssumeRole" for the service principal "{SERVICE}". Also ensure that the role has '
        f'"s3:GetObject" permissions and that the object is located in {region}. If your Model '
        "uses multiple models or uncompressed models, please ensure that the role has "
        '"s3:ListBucket" permission.'
    )


def _no_image(image: str, role: str) -> str:
    actions = ", ".join(PULL)
    return f"The repository of your image {image} does not grant {actions} permission to {role}"
