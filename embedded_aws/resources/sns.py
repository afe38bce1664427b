"""SNS: topics, subscriptions and policies of topics. No mail is ever sent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from embedded_aws.resources.api_resource import (
    ApiResource,
    DescribeCall,
    Naming,
    SharedPolicy,
    text,
    texts,
)
from embedded_aws.resources.provider import ProviderError, ResourceRequest
from embedded_aws.resources.tags import Tagging

_TOPIC_ATTRIBUTES = frozenset(
    {"DisplayName", "KmsMasterKeyId", "SignatureVersion", "TracingConfig"}
)
_SUBSCRIPTION_ATTRIBUTES = frozenset(
    {
        "DeliveryPolicy",
        "FilterPolicy",
        "FilterPolicyScope",
        "RawMessageDelivery",
        "RedrivePolicy",
        "SubscriptionRoleArn",
    }
)
_PROTOCOLS = (
    "application",
    "email",
    "email-json",
    "firehose",
    "http",
    "https",
    "lambda",
    "sms",
    "sqs",
)


class Topic(ApiResource):
    """A topic; Ref gives its ARN. Its subscriptions go with it."""

    type = "AWS::SNS::Topic"
    apart = _TOPIC_ATTRIBUTES | {"Subscription"}
    in_place = apart | {"Tags"}
    supported = in_place | {"TopicName"}
    renamed: ClassVar = {"TopicName": "Name"}
    service = "sns"
    creation, deletion = "create_topic", "delete_topic"
    identity = "TopicArn"
    answer = ("TopicArn",)
    naming = Naming("TopicName", 256)
    described_by = DescribeCall("get_topic_attributes", "TopicArn")
    tagging = Tagging("ResourceArn")

    def arguments(self, request: ResourceRequest) -> dict[str, Any]:
        """Return name and tags besides the attributes."""
        attributes = texts(request.given(*_TOPIC_ATTRIBUTES))
        return {**super().arguments(request), "Attributes": attributes}

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Create the subscriptions in the topic's properties."""
        for subscription in request.properties.get("Subscription", []):
            _subscribe(request, physical_id, subscription)

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Return ARN and name."""
        return {"TopicArn": physical_id, "TopicName": physical_id.rpartition(":")[2]}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Update attributes, subscriptions and tags."""
        sns, properties = request.aws.service("sns"), request.properties
        for name, value in _changed(_TOPIC_ATTRIBUTES, previous, properties):
            sns.set_topic_attributes(TopicArn=physical_id, AttributeName=name, AttributeValue=value)
        wanted = properties.get("Subscription", [])
        for subscription in _subscriptions(request, physical_id):
            own = {name: subscription[name] for name in ("Endpoint", "Protocol")}
            if own in previous.get("Subscription", []) and own not in wanted:
                sns.unsubscribe(SubscriptionArn=subscription["SubscriptionArn"])
        for subscription in wanted:
            if subscription not in previous.get("Subscription", []):
                _subscribe(request, physical_id, subscription)
        self.retag(request, physical_id, previous)


class Subscription(ApiResource):
    """A separate subscription; Ref gives its ARN. It needs no confirmation."""

    type = "AWS::SNS::Subscription"
    in_place = _SUBSCRIPTION_ATTRIBUTES
    supported = in_place | {"Endpoint", "Protocol", "TopicArn"}
    service = "sns"
    deletion = "unsubscribe"
    identity = "SubscriptionArn"
    id_attributes = ("Arn",)

    def create(self, request: ResourceRequest) -> str:
        """Subscribe."""
        return _subscribe(request, request.properties["TopicArn"], request.properties)

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Update the attributes."""
        for name, value in _changed(_SUBSCRIPTION_ATTRIBUTES, previous, request.properties):
            request.aws.service("sns").set_subscription_attributes(
                SubscriptionArn=physical_id, AttributeName=name, AttributeValue=value
            )


class TopicPolicy(SharedPolicy):
    """The policy of topics."""

    type = "AWS::SNS::TopicPolicy"
    holders = "Topics"
    supported = frozenset({"PolicyDocument", "Topics"})
    in_place = supported

    def put(self, request: ResourceRequest, holder: str, policy: Mapping[str, Any] | None) -> None:
        """Put a policy on a topic, or restore its default policy."""
        document = policy or _owners_policy(request, holder)
        request.aws.service("sns").set_topic_attributes(
            TopicArn=holder, AttributeName="Policy", AttributeValue=json.dumps(document)
        )

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Return the id as the attribute `Id`."""
        return {"Id": physical_id}


def _subscribe(request: ResourceRequest, topic: str, given: Mapping[str, Any]) -> str:
    """Subscribe; raises ProviderError, with SNS's message, for input that moto would accept."""
    if given["Protocol"] not in _PROTOCOLS:
        raise ProviderError("Invalid parameter: Protocol")
    if given["Protocol"].startswith("email") and "@" not in given["Endpoint"]:
        raise ProviderError("Invalid parameter: Email address")
    attributes = {name: given[name] for name in _SUBSCRIPTION_ATTRIBUTES if name in given}
    answer = request.aws.service("sns").subscribe(
        TopicArn=topic,
        Protocol=given["Protocol"],
        Endpoint=given["Endpoint"],
        Attributes=texts(attributes),
        ReturnSubscriptionArn=True,
    )
    return str(answer["SubscriptionArn"])


def _subscriptions(request: ResourceRequest, topic: str) -> list[Any]:
    sns = request.aws.service("sns")
    return list(sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"])


def _changed(
    names: Iterable[str], previous: Mapping[str, Any], properties: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Yield the changed attributes; removed ones become empty."""
    for name in sorted(names):
        value = properties.get(name)
        if value != previous.get(name):
            yield name, "" if value is None else text(value)


def _owners_policy(request: ResourceRequest, topic: str) -> dict[str, Any]:
    """Return the default policy, which lets the owner's account use a topic."""
    actions = ("GetTopicAttributes", "SetTopicAttributes", "AddPermission", "RemovePermission")
    more = ("DeleteTopic", "Subscribe", "ListSubscriptionsByTopic", "Publish")
    statement = {
        "Effect": "Allow",
        "Principal": {"AWS": "*"},
        "Action": [f"SNS:{action}" for action in (*actions, *more)],
        "Resource": topic,
        "Condition": {"StringEquals": {"AWS:SourceOwner": request.aws.account}},
    }
    return {"Version": "2008-10-17", "Statement": [statement]}
