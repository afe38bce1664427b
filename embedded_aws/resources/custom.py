"""Custom resources: functions create, change and delete them, and respond through S3.

A function responds with a PUT to a pre-signed URL, which points to a bucket in CloudFormation's
account. If it ends without a response, CloudFormation would wait for an hour; here the resource
fails at once. Source: CloudFormation user guide, "Custom resource request objects" and
"Custom resource response objects".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from botocore.exceptions import ClientError

from embedded_aws.clients import Clients
from embedded_aws.ids import ids
from embedded_aws.resources.provider import Provider, ProviderError, ResourceRequest
from embedded_aws.templates.intrinsics import as_text
from embedded_aws.templates.template import ResourceDefinition, TemplateError

PREFIX: Final = "Custom::"
_TOKEN: Final = "ServiceToken"  # noqa: S105 - the ARN of a function
_VALIDITY_S: Final = 7200
_OWNER: Final = "000000000000"
"""The account, other than the user's, that owns the bucket for responses."""


class CustomResource(Provider):
    """A resource that the function in ServiceToken creates from any properties."""

    type = "AWS::CloudFormation::CustomResource"
    supported: ClassVar = frozenset({_TOKEN})

    def check(self, definition: ResourceDefinition) -> None:
        """Raise TemplateError for a resource without a function."""
        if _TOKEN not in definition.properties:
            raise TemplateError(
                f"{definition.type} ({definition.logical_id}) needs the property {_TOKEN}: the ARN "
                "of the function that creates it"
            )

    def replaces(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        """Return False: the function requests a replacement by another physical id."""
        return False

    def fixed(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
        """Return ServiceToken if it has changed, which is not allowed."""
        return [_TOKEN] if old[_TOKEN] != new[_TOKEN] else []

    def create(self, request: ResourceRequest) -> str:
        """Invoke the function, and return the id that it gives, even if it failed."""
        answer = _asked(request, "Create")
        return str(answer.get("PhysicalResourceId") or request.generated_name())

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Raise ProviderError unless the function has succeeded."""
        _require_success(_last_answer(request))

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Return the data of the last response."""
        return _last_answer(request).get("Data") or {}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Invoke the function for the update."""
        before = {"PhysicalResourceId": physical_id, "OldResourceProperties": _texts(previous)}
        _require_success(_asked(request, "Update", **before))

    def id_after_update(self, request: ResourceRequest, physical_id: str) -> str:
        """Return the id of the last response: a new id means a new resource."""
        return str(_last_answer(request).get("PhysicalResourceId") or physical_id)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Invoke the function for the deletion."""
        _require_success(_asked(request, "Delete", PhysicalResourceId=physical_id))


def _asked(request: ResourceRequest, kind: str, **further: Any) -> Mapping[str, Any]:
    """Invoke the function, and return its response, which is empty if it gave none."""
    bucket, key = _place(request)
    request.aws.s3.delete_object(Bucket=bucket, Key=key)
    token = request.properties[_TOKEN]
    if ":lambda:" not in token:
        raise ProviderError(f"{_TOKEN} {token} is not a function; the embedded AWS needs one")
    event = {
        "RequestType": kind,
        "RequestId": ids.uuid(f"request for {request.logical_id}"),
        "ResponseURL": request.aws.upload_url(bucket, key, _VALIDITY_S),
        "ServiceToken": token,
        "StackId": request.stack_id,
        "LogicalResourceId": request.logical_id,
        "ResourceType": request.type,
        "ResourceProperties": _texts(request.properties),
        **further,
    }
    answered = request.aws.service("lambda").invoke(FunctionName=token, Payload=json.dumps(event))
    failure = answered["Payload"].read().decode() if "FunctionError" in answered else ""
    answer = _last_answer(request)
    return answer or _unanswered(request, failure)


def _unanswered(request: ResourceRequest, failure: str) -> dict[str, Any]:
    """Return a failure in place of the missing response of a function."""
    reason = (
        "CloudFormation did not receive a response from your Custom Resource: the function ended "
        "without a response, for which CloudFormation would wait an hour."
    )
    answer = {"Status": "FAILED", "Reason": f"{reason} {failure}".strip()}
    bucket, key = _place(request)
    request.aws.s3.put_object(Bucket=bucket, Key=key, Body=json.dumps(answer).encode())
    return answer


def _require_success(answer: Mapping[str, Any]) -> None:
    if answer.get("Status") != "SUCCESS":
        raise ProviderError(
            f"Received response status [{answer.get('Status')}] from custom resource. "
            f"Message returned: {answer.get('Reason', '')}"
        )


def _place(request: ResourceRequest) -> tuple[str, str]:
    """Return bucket and key of the last response for a resource."""
    stack = request.stack_id.rpartition("/")[2]
    return _bucket(request.aws), f"{stack}/{request.logical_id}"


def _bucket(aws: Clients) -> str:
    """Return the bucket for responses, which the user's account does not list."""
    from moto.s3.models import s3_backends  # takes long to import

    name = f"cloudformation-custom-resource-response-{aws.region}"
    if name not in s3_backends.bucket_accounts:
        s3_backends[_OWNER][aws.partition].create_bucket(name, aws.region)
    return name


def _last_answer(request: ResourceRequest) -> Mapping[str, Any]:
    bucket, key = _place(request)
    try:
        content = request.aws.s3.get_object(Bucket=bucket, Key=key)["Body"].read()
    except ClientError:
        return {}
    answer: dict[str, Any] = json.loads(content)
    return answer


def _texts(value: Any) -> Any:
    """Return properties as functions get them: all numbers and booleans are text."""
    if isinstance(value, list):
        return [_texts(item) for item in value]
    if isinstance(value, dict):
        return {key: _texts(item) for key, item in value.items()}
    return as_text(value)
