"""SQS: queues and their policies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from embedded_aws.resources.api_resource import ApiResource, Naming
from embedded_aws.resources.attribute_texts import texts
from embedded_aws.resources.provider import Provider, ResourceRequest
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
    """A queue; Ref gives its address."""

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
        """Return name and tags beside the attributes."""
        attributes = texts(request.given(*_ATTRIBUTES))
        return {**super().arguments(request), "Attributes": attributes}

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Return ARN, name and address."""
        name = physical_id.rpartition("/")[2]
        arn = request.aws.arn("sqs", name)
        return {"Arn": arn, "QueueName": name, "QueueUrl": physical_id}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Set attributes and tags anew; moto forgets the policy unless it is set with them."""
        policy = {"QueueUrl": physical_id, "AttributeNames": ["Policy"]}
        kept = self.call(request, "get_queue_attributes", policy).get("Attributes", {})
        attributes = {**kept, **texts(request.given(*_ATTRIBUTES))}
        arguments = {"QueueUrl": physical_id, "Attributes": attributes}
        self.call(request, "set_queue_attributes", arguments)
        self.retag(request, physical_id, previous)


class QueuePolicy(Provider):
    """The policy of queues; without it a queue is for its account alone."""

    type = "AWS::SQS::QueuePolicy"
    supported = frozenset({"PolicyDocument", "Queues"})
    in_place = supported

    def create(self, request: ResourceRequest) -> str:
        """Put the policy on every queue."""
        for queue in request.properties["Queues"]:
            _put_policy(request, queue, json.dumps(request.properties["PolicyDocument"]))
        return request.generated_name()

    def update(
        self,
        request: ResourceRequest,
        physical_id: str,  # noqa: ARG002
        previous: Mapping[str, Any],
    ) -> None:
        """Put the policy anew, and take it from queues that are no longer named."""
        for queue in set(previous["Queues"]) - set(request.properties["Queues"]):
            _put_policy(request, queue, "")
        self.create(request)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:  # noqa: ARG002
        """Take the policy away."""
        for queue in request.properties["Queues"]:
            _put_policy(request, queue, "")


def _put_policy(request: ResourceRequest, queue: str, policy: str) -> None:
    request.aws.service("sqs").set_queue_attributes(QueueUrl=queue, Attributes={"Policy": policy})
