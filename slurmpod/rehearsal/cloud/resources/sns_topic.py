"""AWS::SNS::Topic, AWS::SNS::Subscription and AWS::SNS::TopicPolicy. No mail is ever sent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.attribute_texts import text, texts
from slurmpod.rehearsal.cloud.resources.provider import Provider, ProviderError, ResourceRequest
from slurmpod.rehearsal.cloud.resources.tags import retag_by_arn

if TYPE_CHECKING:
    from collections.abc import Mapping

_TOPIC_ATTRIBUTES = ("DisplayName", "KmsMasterKeyId", "SignatureVersion", "TracingConfig")
_SUBSCRIPTION_ATTRIBUTES = (
    "DeliveryPolicy",
    "FilterPolicy",
    "FilterPolicyScope",
    "RawMessageDelivery",
    "RedrivePolicy",
    "SubscriptionRoleArn",
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


class Topic(Provider):
    """A topic; Ref gives its ARN."""

    type = "AWS::SNS::Topic"
    supported = frozenset({*_TOPIC_ATTRIBUTES, "Subscription", "Tags", "TopicName"})
    in_place = supported - {"TopicName"}

    def create(self, request: ResourceRequest) -> str:
        """Create the topic."""
        name = request.properties.get("TopicName") or request.generated_name(256)
        answer = request.aws.service("sns").create_topic(
            Name=name,
            Attributes=texts(request.given(*_TOPIC_ATTRIBUTES)),
            **request.given("Tags"),
        )
        return str(answer["TopicArn"])

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Subscribe those that stand in the topic's own properties."""
        for subscription in request.properties.get("Subscription", []):
            _subscribe(request, physical_id, subscription)

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Return ARN and name."""
        return {"TopicArn": physical_id, "TopicName": physical_id.rpartition(":")[2]}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Set attributes, subscriptions and tags anew."""
        sns, properties = request.aws.service("sns"), request.properties
        for name in _TOPIC_ATTRIBUTES:
            if previous.get(name) != properties.get(name):
                _set(sns.set_topic_attributes, name, properties.get(name), TopicArn=physical_id)
        wanted = properties.get("Subscription", [])
        for subscription in _subscriptions(request, physical_id):
            own = {name: subscription[name] for name in ("Endpoint", "Protocol")}
            if own in previous.get("Subscription", []) and own not in wanted:
                sns.unsubscribe(SubscriptionArn=subscription["SubscriptionArn"])
        for subscription in wanted:
            if subscription not in previous.get("Subscription", []):
                _subscribe(request, physical_id, subscription)
        retag_by_arn("sns", request, previous, ResourceArn=physical_id)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the topic and its subscriptions."""
        request.aws.service("sns").delete_topic(TopicArn=physical_id)


class Subscription(Provider):
    """A subscription of its own; Ref gives its ARN. Nobody has to confirm it."""

    type = "AWS::SNS::Subscription"
    supported = frozenset({*_SUBSCRIPTION_ATTRIBUTES, "Endpoint", "Protocol", "TopicArn"})
    in_place = frozenset(_SUBSCRIPTION_ATTRIBUTES)

    def create(self, request: ResourceRequest) -> str:
        """Subscribe."""
        return _subscribe(request, request.properties["TopicArn"], request.properties)

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the ARN under its own name."""
        return {"Arn": physical_id}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Set the attributes anew."""
        change = request.aws.service("sns").set_subscription_attributes
        for name in _SUBSCRIPTION_ATTRIBUTES:
            if previous.get(name) != request.properties.get(name):
                _set(change, name, request.properties.get(name), SubscriptionArn=physical_id)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Unsubscribe."""
        request.aws.service("sns").unsubscribe(SubscriptionArn=physical_id)


class TopicPolicy(Provider):
    """The policy of topics."""

    type = "AWS::SNS::TopicPolicy"
    supported = frozenset({"PolicyDocument", "Topics"})
    in_place = supported

    def create(self, request: ResourceRequest) -> str:
        """Put the policy on every topic."""
        for topic in request.properties["Topics"]:
            self._put(request, topic, request.properties["PolicyDocument"])
        return request.generated_name()

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the id under its own name."""
        return {"Id": physical_id}

    def update(
        self,
        request: ResourceRequest,
        physical_id: str,  # noqa: ARG002
        previous: Mapping[str, Any],
    ) -> None:
        """Put the policy anew, and give topics that are no longer named their first one back."""
        for topic in set(previous["Topics"]) - set(request.properties["Topics"]):
            self._put(request, topic, _owners_policy(request, topic))
        self.create(request)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:  # noqa: ARG002
        """Give the topics the policy back that they were created with."""
        for topic in request.properties["Topics"]:
            self._put(request, topic, _owners_policy(request, topic))

    def _put(self, request: ResourceRequest, topic: str, document: Mapping[str, Any]) -> None:
        request.aws.service("sns").set_topic_attributes(
            TopicArn=topic, AttributeName="Policy", AttributeValue=json.dumps(document)
        )


def _subscribe(request: ResourceRequest, topic: str, given: Mapping[str, Any]) -> str:
    """Subscribe; raises ProviderError, with SNS's words, for what moto would take."""
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


def _set(change: Any, name: str, value: Any, **resource: str) -> None:
    written = "" if value is None else text(value)
    change(**resource, AttributeName=name, AttributeValue=written)


def _owners_policy(request: ResourceRequest, topic: str) -> dict[str, Any]:
    """Return the policy that lets the owner's account use a topic."""
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
