"""Delivery of service events to the targets of matching rules.

moto matches events with rules. Topics are the only targets of service events here; schedules of
functions run nothing. Source of the input transformers:
EventBridge user guide, "Amazon EventBridge input transformation": a variable whose path leads
nowhere disappears from the output; a template of text keeps its quotation marks.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping
from typing import Any

from embedded_aws.clients import Clients
from embedded_aws.iam.evaluation import Policies, Principal, Request, evaluate
from embedded_aws.iam.policy import policy_of

EVENT_BRIDGE = Principal(service="events.amazonaws.com")
CIRCUMSTANCES = {"aws:SecureTransport": "true"}
"""EventBridge passes neither account nor rule when it uses a topic and its key."""

_log = logging.getLogger(__name__)


def deliver(aws: Clients, event: Mapping[str, Any]) -> None:
    """Send an event to the targets of every matching rule."""
    for rule in _matching_rules(aws, event):
        targets = aws.service("events").list_targets_by_rule(Rule=rule["Name"])["Targets"]
        for target in targets:
            if ":sns:" in target["Arn"]:
                _publish(aws, rule, target, event)
            else:
                _log.warning("events reach no %s in the embedded AWS", target["Arn"])


def _matching_rules(aws: Clients, event: Mapping[str, Any]) -> Iterator[Any]:
    from moto.events.models import EventPattern  # takes long to import

    for page in aws.service("events").get_paginator("list_rules").paginate():
        for rule in page["Rules"]:
            pattern: Any = EventPattern.load(rule.get("EventPattern"))
            is_live = "EventPattern" in rule and rule["State"] == "ENABLED"
            if is_live and pattern.matches_event(event):
                yield rule


def _publish(aws: Clients, rule: Any, target: Any, event: Mapping[str, Any]) -> None:
    text = transformed(target.get("InputTransformer"), event)
    refusal = _refusal(aws, target["Arn"])
    if refusal is None:
        aws.service("sns").publish(TopicArn=target["Arn"], Message=text)
        return
    _log.warning("%s: %s", target["Arn"], refusal)
    queue_arn = target.get("DeadLetterConfig", {}).get("Arn")
    if queue_arn:
        _keep(aws, queue_arn, event, RULE_ARN=rule["Arn"], TARGET_ARN=target["Arn"])


def _refusal(aws: Clients, topic_arn: str) -> str | None:
    """Return why EventBridge may not publish to a topic, or None if it may."""
    attributes = aws.service("sns").get_topic_attributes(TopicArn=topic_arn)["Attributes"]
    policy = json.loads(attributes["Policy"])
    refusal = _denied("sns:Publish", topic_arn, policy)
    key = attributes.get("KmsMasterKeyId")
    if refusal or not key:
        return refusal
    kms = aws.service("kms")
    arn = kms.describe_key(KeyId=key)["KeyMetadata"]["Arn"]
    key_policy = json.loads(kms.get_key_policy(KeyId=arn, PolicyName="default")["Policy"])
    needed = ("kms:GenerateDataKey", "kms:Decrypt")
    return next(filter(None, (_denied(action, arn, key_policy) for action in needed)), None)


def _denied(action: str, resource: str, document: Any) -> str | None:
    request = Request(action, resource, CIRCUMSTANCES, EVENT_BRIDGE)
    policy = policy_of("the resource's policy", document)
    decision = evaluate(request, Policies(resource=policy))
    return None if decision.allowed else decision.because


def _keep(aws: Clients, queue_arn: str, event: Mapping[str, Any], **attributes: str) -> None:
    """Put an event that could not be delivered into the target's dead-letter queue."""
    sqs = aws.service("sqs")
    url = sqs.get_queue_url(QueueName=queue_arn.rpartition(":")[2])["QueueUrl"]
    values = {
        name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()
    }
    sqs.send_message(QueueUrl=url, MessageBody=json.dumps(event), MessageAttributes=values)


_VARIABLE = re.compile(r"<([A-Za-z0-9_.-]+)>")


def transformed(transformer: Mapping[str, Any] | None, event: Mapping[str, Any]) -> str:
    """Return the text for the target; without a transformer, the whole event as JSON."""
    if transformer is None:
        return json.dumps(event)
    values = {name: _at(event, path) for name, path in transformer.get("InputPathsMap", {}).items()}
    template = str(transformer["InputTemplate"])
    return _VARIABLE.sub(lambda match: _text(values.get(match[1])), template)


def _at(event: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path such as $.detail.ClusterName, or None."""
    value: Any = event
    for key in path.removeprefix("$").strip(".").split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)
