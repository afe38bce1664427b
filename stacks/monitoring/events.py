"""Events of a cluster in EventBridge: their severities, messages and rules.

Sources: SageMaker AI developer guide, "Events that Amazon SageMaker AI sends to Amazon
EventBridge" (the three kinds of events and their members) and "SageMaker HyperPod cluster events
reference" (the levels Info, Warn and Error; the types of resources). SageMaker may send several
events for one change, so a message may come twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from aws_cdk import Duration, aws_events, aws_iam, aws_sqs
from constructs import Construct

from slurmpod.resolve import Resolved

Severity = Literal["critical", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("critical", "warning", "info")
"""The severities of `monitoring.notify`."""

SOURCE = "aws.sagemaker"
STATE_CHANGE = "SageMaker HyperPod Cluster State Change"
NODE_HEALTH = "SageMaker HyperPod Cluster Node Health Event"
CLUSTER_EVENT = "SageMaker HyperPod Cluster Event"

Pattern = dict[str, Any]


@dataclass(frozen=True)
class Message:
    """Lines of a message; `<name>` in them is replaced by the value at the path of that name."""

    paths: Mapping[str, str]
    lines: tuple[str, ...]


@dataclass(frozen=True)
class ClusterEvents:
    """Events of one kind and severity; `detail` is the pattern of their details."""

    id: str
    severity: Severity
    kind: str
    detail: Pattern
    message: Message

    @property
    def pattern(self) -> Pattern:
        """The complete pattern, in EventBridge's form."""
        return {"source": [SOURCE], "detail-type": [self.kind], "detail": self.detail}


def events_of(cluster: str, region: str) -> Iterator[ClusterEvents]:
    """Yield the events to report for the cluster of this name; no event belongs to two of them."""
    yield from _state_changes(cluster, region)
    yield from _node_health(cluster, region)
    yield from _cluster_events(cluster, region)


_FAILURE = [{"wildcard": "* *"}]
"""A failure message is a sentence: it has a space, which neither an empty text nor null has."""

_NO_FAILURE = [{"exists": False}, {"anything-but": {"wildcard": "* *"}}]


def _state_changes(cluster: str, region: str) -> Iterator[ClusterEvents]:
    """Yield the status changes of the cluster, and returns to service after a failure."""
    describe = f"aws sagemaker describe-cluster --region {region} --cluster-name {cluster}"
    after = f"the cluster is as it was before: correct what failed and deploy again; {describe}"
    healthy: Pattern = {"ClusterStatus": ["InService"], "FailureMessage": _NO_FAILURE}
    unchanged: Pattern = {"ClusterStatus": ["InService"], "FailureMessage": _FAILURE}
    states: tuple[tuple[str, Severity, Pattern, str], ...] = (
        ("Failed", "critical", _status("Failed"), describe),
        ("UpdateFailed", "critical", unchanged, after),
        ("Leaving", "warning", _status("Deleting", "RollingBack"), f"unless you asked: {describe}"),
        ("Changed", "info", _status("Creating", "SystemUpdating", "Updating"), "nothing"),
        ("InService", "info", healthy, "nothing"),
    )
    for id_, severity, detail, advice in states:
        paths = {"status": "$.detail.ClusterStatus"}
        reason: tuple[str, ...] = ()
        if id_ in ("Failed", "UpdateFailed"):
            paths["reason"], reason = "$.detail.FailureMessage", ("Why: <reason>",)
        yield ClusterEvents(
            f"State{id_}",
            severity,
            STATE_CHANGE,
            {"ClusterName": [cluster], **detail},
            _message(cluster, "cluster is <status>", reason, advice, paths),
        )


def _status(*statuses: str) -> Pattern:
    return {"ClusterStatus": list(statuses)}


def _node_health(cluster: str, region: str) -> Iterator[ClusterEvents]:
    """Yield the findings of the health monitoring agent.

    An unhealthy node without a HyperPod action (RepairAction None) needs an operator; one that is
    rebooted or replaced comes back automatically, or appears among the missing nodes.
    """
    nodes = f"aws sagemaker list-cluster-nodes --region {region} --cluster-name {cluster}"
    paths = {
        "node": "$.detail.InstanceId",
        "health": "$.detail.HealthSummary.HealthStatus",
        "reason": "$.detail.HealthSummary.HealthStatusReason",
        "action": "$.detail.HealthSummary.RepairAction",
        "recommendation": "$.detail.HealthSummary.Recommendation",
    }
    why = ("Why: <reason>", "HyperPod does: <action>", "HyperPod recommends: <recommendation>")
    unattended: Pattern = {
        "HealthStatus": ["Unhealthy"],
        "RepairAction": ["None", {"exists": False}],
    }
    attended: Pattern = {
        "HealthStatus": ["Unhealthy"],
        "RepairAction": [{"anything-but": ["None"]}],
    }
    kinds: tuple[tuple[str, Severity, Pattern, str], ...] = (
        ("Unattended", "critical", unattended, f"replace the node, or reboot it; {nodes}"),
        ("Attended", "warning", attended, f"nothing, unless the node does not come back; {nodes}"),
        ("Other", "info", {"HealthStatus": [{"anything-but": ["Unhealthy"]}]}, "nothing"),
    )
    for id_, severity, summary, advice in kinds:
        yield ClusterEvents(
            f"Node{id_}",
            severity,
            NODE_HEALTH,
            {"ClusterName": [cluster], "HealthSummary": summary},
            _message(cluster, "node <node> is <health>", why, advice, paths),
        )


def _cluster_events(cluster: str, region: str) -> Iterator[ClusterEvents]:
    """Yield the cluster events of continuous provisioning, by HyperPod's levels.

    Successes of single instances are left out: a large cluster sends thousands of them.
    FailureMessage of these events is empty in EventBridge, hence the call that shows it.
    """
    paths = {
        "description": "$.detail.EventDetails.Description",
        "kind": "$.detail.EventDetails.ResourceType",
        "event": "$.detail.EventDetails.EventId",
    }
    describe = (
        f"aws sagemaker describe-cluster-event --region {region} --cluster-name {cluster} "
        "--event-id <event>"
    )
    levels: tuple[tuple[str, Severity, Pattern, str], ...] = (
        ("Error", "critical", {}, f"see why: {describe}"),
        ("Warn", "warning", {}, f"see why: {describe}"),
        ("Info", "info", {"ResourceType": ["Cluster", "InstanceGroup"]}, f"nothing; {describe}"),
    )
    for level, severity, more, advice in levels:
        details = {"ClusterName": [cluster], "EventLevel": [level], **more}
        yield ClusterEvents(
            f"Event{level}",
            severity,
            CLUSTER_EVENT,
            {"EventDetails": details},
            _message(cluster, "<kind>: <description>", (), advice, paths),
        )


def _message(
    cluster: str, what: str, more: tuple[str, ...], advice: str, paths: Mapping[str, str]
) -> Message:
    """Return what happened, where, and what to do next."""
    where = "Where: account <account>, <region>, at <time>"
    always = {"account": "$.account", "region": "$.region", "time": "$.time"}
    lines = (f"HyperPod cluster {cluster}: {what}", *more, where, f"What to do: {advice}")
    return Message({**paths, **always}, lines)


_Rule = aws_events.CfnRule


class EventRules(Construct):
    """A rule for each kind of event, which sends a message to the topic of its severity.

    Events that cannot be delivered within a day are kept in a queue for two weeks, to be read
    manually: otherwise a misconfigured topic would hide a failed cluster. The queue uses SQS's key,
    because a KMS key that services may not use is a possible cause of failed deliveries.
    """

    def __init__(
        self, scope: Construct, id_: str, *, resolved: Resolved, topic_arns: Mapping[str, str]
    ) -> None:
        super().__init__(scope, id_)
        queue = aws_sqs.Queue(
            self,
            "Undelivered",
            encryption=aws_sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=Duration.days(14),
        )
        rules = [
            self._rule(events, topic_arns[events.severity], queue.queue_arn)
            for events in events_of(resolved.name, resolved.region)
        ]
        queue.add_to_resource_policy(
            aws_iam.PolicyStatement(
                sid="KeepUndelivered",
                principals=[aws_iam.ServicePrincipal("events.amazonaws.com")],
                actions=["sqs:SendMessage"],
                resources=[queue.queue_arn],
                conditions={"ArnEquals": {"aws:SourceArn": [rule.attr_arn for rule in rules]}},
            )
        )
        self.undelivered = queue

    def _rule(self, events: ClusterEvents, topic_arn: str, queue_arn: str) -> _Rule:
        return _Rule(
            self,
            events.id,
            description=f"{events.kind}: {events.severity}",
            event_pattern=events.pattern,
            targets=[
                _Rule.TargetProperty(
                    id="Topic",
                    arn=topic_arn,
                    dead_letter_config=_Rule.DeadLetterConfigProperty(arn=queue_arn),
                    input_transformer=_transformer(events.message),
                )
            ],
        )


def _transformer(message: Message) -> _Rule.InputTransformerProperty:
    """Return the message in EventBridge's form: each line is a JSON string."""
    return _Rule.InputTransformerProperty(
        input_paths_map=dict(message.paths),
        input_template="\n".join(json.dumps(line) for line in message.lines),
    )
