"""SQS: queues and their policies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from embedded_aws.resources.api_resource import ApiResource, Naming, SharedPolicy, texts
from embedded_aws.resources.provider import ResourceRequest
from embedded_aws.resources.tags import Tagging

_ATTRIBUTES = frozenset(
    {
        "DelaySeconds",
        "KmsMasterKeyId",
        "MaximumMessageSize",
        "MessageRetentionPeriod",
        "ReceiveMessageWaitTimeSeconds",
        "RedrivePolicy",
        "SqsManagedSseEnabled",
        "VisibilityTimeout",
    }
)


class Queue(ApiResource):
    """A queue; Ref gives its URL."""

    type = "AWS::SQS::Queue"
    apart = _ATTRIBUTES
    in_place = _ATTRIBUTES | {"Tags"}
    supported = in_place | {"QueueName"}
    service = "sqs"
    creation, deletion = "create_queue", "delete_queue"
    identity = "QueueUrl"
    answer = ("QueueUrl",)
    naming = Naming("QueueName", 80)
    tagging = Tagging("QueueUrl", tag="tag_queue", untag="untag_queue", write=dict)
    tags_at_creation = "tags"

    def arguments(self, request: ResourceRequest) -> dict[str, Any]:
        """Return name and tags besides the attributes."""
        attributes = texts(request.given(*_ATTRIBUTES))
        return {**super().arguments(request), "Attributes": attributes}

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Return ARN, name and URL."""
        name = physical_id.rpartition("/")[2]
        arn = request.aws.arn("sqs", name)
        return {"Arn": arn, "QueueName": name, "QueueUrl": physical_id}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Update attributes and tags; moto loses the policy unless it is set with them."""
        policy = {"QueueUrl": physical_id, "AttributeNames": ["Policy"]}
        kept = self.call(request, "get_queue_attributes", policy).get("Attributes", {})
        attributes = {**kept, **texts(request.given(*_ATTRIBUTES))}
        arguments = {"QueueUrl": physical_id, "Attributes": attributes}
        self.call(request, "set_queue_attributes", arguments)
        self.retag(request, physical_id, previous)


class QueuePolicy(SharedPolicy):
    """The policy of queues; without it, only the queue's account has access."""

    type = "AWS::SQS::QueuePolicy"
    holders = "Queues"
    supported = frozenset({"PolicyDocument", "Queues"})
    in_place = supported

    def put(self, request: ResourceRequest, holder: str, policy: Mapping[str, Any] | None) -> None:
        """Put a policy on a queue, or remove it."""
        attributes = {"Policy": json.dumps(policy) if policy else ""}
        request.aws.service("sqs").set_queue_attributes(QueueUrl=holder, Attributes=attributes)
