"""Events of the cluster on their way to the topics."""

from __future__ import annotations

import json
from collections.abc import Mapping

from aws_cdk import Duration, aws_events, aws_iam, aws_sqs
from constructs import Construct

from slurmpod.resolve import Resolved
from slurmpod_cdk.monitoring.cluster_events import ClusterEvents, Message, events_of

_Rule = aws_events.CfnRule


class EventRules(Construct):
    """A rule for each kind of event, which sends a text for people to the topic of its severity.

    What cannot be delivered within a day ends up in a queue for two weeks, to be read by hand:
    otherwise a topic that somebody broke would swallow the news of a failed cluster. The queue has
    SQS's own key, because a KMS key that services may not use is one of the reasons to be there.
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
    """Return the message as EventBridge takes it: each line a text of JSON."""
    return _Rule.InputTransformerProperty(
        input_paths_map=dict(message.paths),
        input_template="\n".join(json.dumps(line) for line in message.lines),
    )
