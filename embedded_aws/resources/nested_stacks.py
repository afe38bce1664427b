"""Nested stacks: resources that are stacks, created and changed by CloudFormation."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from embedded_aws.resources.provider import Provider, ProviderError, ResourceRequest
from embedded_aws.templates.intrinsics import as_text

_POLL_SECONDS = 0.1
_CAPABILITIES = ["CAPABILITY_AUTO_EXPAND", "CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"]
_NAME_LIMIT = 128


class NestedStack(Provider):
    """A stack from a template in S3; Ref gives its ARN, its attributes are its outputs."""

    type = "AWS::CloudFormation::Stack"
    is_always_updated = True
    in_place = frozenset({"Parameters", "Tags", "TemplateURL"})
    supported = in_place | {"TimeoutInMinutes"}

    def create(self, request: ResourceRequest) -> str:
        """Start the creation of the stack."""
        name = request.generated_name(_NAME_LIMIT)
        api = request.aws.service("cloudformation")
        return str(api.create_stack(StackName=name, **_arguments(request))["StackId"])

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Wait until the stack is created."""
        _require(request, physical_id, "CREATE_COMPLETE", "created")

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Return the outputs, prefixed with `Outputs.`."""
        outputs = _described(request, physical_id).get("Outputs", [])
        return {f"Outputs.{each['OutputKey']}": each["OutputValue"] for each in outputs}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Update the stack, and wait until that is complete."""
        api = request.aws.service("cloudformation")
        try:
            api.update_stack(StackName=physical_id, **_arguments(request))
        except ClientError as error:
            if "No updates are to be performed" not in str(error):
                raise
            return
        _require(request, physical_id, "UPDATE_COMPLETE", "updated")

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the stack, and wait until it is gone."""
        request.aws.service("cloudformation").delete_stack(StackName=physical_id)
        _require(request, physical_id, "DELETE_COMPLETE", "deleted")


def _arguments(request: ResourceRequest) -> dict[str, Any]:
    parameters = request.properties.get("Parameters", {})
    return {
        **request.given("TemplateURL"),
        "Tags": request.properties.get("Tags", []),
        "Parameters": [
            {"ParameterKey": name, "ParameterValue": _text(value)}
            for name, value in parameters.items()
        ],
        "Capabilities": _CAPABILITIES,
    }


def _text(value: Any) -> str:
    return ",".join(map(as_text, value)) if isinstance(value, list) else as_text(value)


def _described(request: ResourceRequest, physical_id: str) -> Any:
    api = request.aws.service("cloudformation")
    return api.describe_stacks(StackName=physical_id)["Stacks"][0]


def _require(request: ResourceRequest, physical_id: str, status: str, participle: str) -> None:
    """Wait for the end of an operation; raises ProviderError if its status is not `status`."""
    while True:
        stack = _described(request, physical_id)
        if not stack["StackStatus"].endswith("_IN_PROGRESS"):
            break
        time.sleep(_POLL_SECONDS)
    if stack["StackStatus"] != status:
        raise ProviderError(
            f"Embedded stack {physical_id} was not successfully {participle}: "
            f"{_first_reason(request, physical_id)}"
        )


def _first_reason(request: ResourceRequest, physical_id: str) -> str:
    """Return the reason in the operation's first failure event."""
    pages = request.aws.service("cloudformation").get_paginator("describe_stack_events")
    events = [
        event
        for page in pages.paginate(StackName=physical_id)
        for event in page["StackEvents"]
        if event["ResourceStatus"].endswith("_FAILED") or "ROLLBACK" in event["ResourceStatus"]
    ]
    reasons = [event["ResourceStatusReason"] for event in events if "ResourceStatusReason" in event]
    return reasons[-1] if reasons else "see its events"
