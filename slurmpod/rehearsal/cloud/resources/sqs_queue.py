"""AWS::SQS::Queue and AWS::SQS::QueuePolicy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.attribute_texts import texts
from slurmpod.rehearsal.cloud.resources.provider import Provider, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

_ATTRIBUTES = (
    "DelaySeconds",
    "KmsMasterKeyId",
    "MaximumMessageSize",
    "MessageRetentionPeriod",
    "ReceiveMessageWaitTimeSeconds",
    "RedrivePolicy",
    "SqsManagedSseEnabled",
    "VisibilityTimeout",
)


class Queue(Provider):
    """A queue; Ref gives its address."""

    type = "AWS::SQS::Queue"
    supported = frozenset({*_ATTRIBUTES, "QueueName", "Tags"})
    in_place = supported - {"QueueName"}

    def create(self, request: ResourceRequest) -> str:
        """Create the queue."""
        answer = request.aws.service("sqs").create_queue(
            QueueName=request.properties.get("QueueName") or request.generated_name(80),
            Attributes=texts(request.given(*_ATTRIBUTES)),
            tags=_tags(request.properties),
        )
        return str(answer["QueueUrl"])

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Return ARN, name and address."""
        aws, name = request.aws, physical_id.rpartition("/")[2]
        arn = f"arn:{aws.partition}:sqs:{aws.region}:{aws.account}:{name}"
        return {"Arn": arn, "QueueName": name, "QueueUrl": physical_id}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Set attributes and tags anew; moto forgets the policy unless it is set with them."""
        sqs = request.aws.service("sqs")
        policy = sqs.get_queue_attributes(QueueUrl=physical_id, AttributeNames=["Policy"])
        attributes = policy.get("Attributes", {}) | texts(request.given(*_ATTRIBUTES))
        sqs.set_queue_attributes(QueueUrl=physical_id, Attributes=attributes)
        tags = _tags(request.properties)
        gone = sorted(_tags(previous).keys() - tags.keys())
        if gone:
            sqs.untag_queue(QueueUrl=physical_id, TagKeys=gone)
        if tags:
            sqs.tag_queue(QueueUrl=physical_id, Tags=tags)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the queue with its messages."""
        request.aws.service("sqs").delete_queue(QueueUrl=physical_id)


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


def _tags(properties: Mapping[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in properties.get("Tags", [])}
