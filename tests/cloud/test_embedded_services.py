"""What surrounds a cluster: alarms, topics, secrets, rules and flow logs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from embedded_aws.clients import Clients
from tests.cloud.embedded_networks import vpc
from tests.cloud.embedded_stacks import (
    ACCOUNT,
    REGION,
    Resources,
    Stacks,
    att,
    ref,
    resource,
)


def alarm(**changes: Any) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "AlarmName": "nodes-down",
        "ComparisonOperator": "GreaterThanThreshold",
        "EvaluationPeriods": 2,
        "Metrics": [
            {
                "Id": "down",
                "MetricStat": {
                    "Metric": {"Namespace": "Slurm", "MetricName": "NodesDown"},
                    "Period": 60,
                    "Stat": "Maximum",
                },
            }
        ],
        "Threshold": 0,
        "TreatMissingData": "notBreaching",
        "Tags": [{"Key": "a", "Value": "1"}],
    }
    return resource("CloudWatch::Alarm", **(properties | changes))


def test_an_alarm_comes_changes_and_goes(stacks: Stacks, clients: Clients) -> None:
    cloudwatch = clients.service("cloudwatch")
    made = stacks.deploy("alarm", {"Down": alarm()}, Arn=att("Down", "Arn"))
    changed = stacks.deploy("alarm", {"Down": alarm(Threshold=5, Tags=[])})
    (found,) = cloudwatch.describe_alarms()["MetricAlarms"]
    tags = cloudwatch.list_tags_for_resource(ResourceARN=found["AlarmArn"])["Tags"]

    assert made.outputs["Arn"] == found["AlarmArn"]
    assert made.ids == changed.ids == {"Down": "nodes-down"}
    assert (found["Threshold"], tags) == (5, [])
    assert found["Metrics"][0]["MetricStat"]["Metric"]["MetricName"] == "NodesDown"
    assert stacks.delete("alarm").status == "DELETE_COMPLETE"
    assert cloudwatch.describe_alarms()["MetricAlarms"] == []


def test_an_alarm_that_cloudwatch_refuses_fails(stacks: Stacks) -> None:
    outcome = stacks.deploy("refused", {"Down": alarm(ComparisonOperator="MoreThan")})
    stacks.delete("refused")

    assert "Value 'MoreThan' at 'comparisonOperator' failed to satisfy" in outcome.reasons


def mail(address: str) -> dict[str, str]:
    return {"Protocol": "email", "Endpoint": address}


def test_a_topic_comes_changes_and_goes(stacks: Stacks, clients: Clients) -> None:
    sns = clients.service("sns")
    policy = {"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sns:Publish"}]}

    def topic(*subscriptions: dict[str, str], filtered: str, **more: Any) -> Resources:
        return {
            "Topic": resource("SNS::Topic", Subscription=list(subscriptions), **more),
            "Hook": resource(
                "SNS::Subscription",
                TopicArn=ref("Topic"),
                Protocol="https",
                Endpoint="https://hooks.example.com/pod",
                FilterPolicy={"severity": [filtered]},
            ),
            "Policy": resource("SNS::TopicPolicy", Topics=[ref("Topic")], PolicyDocument=policy),
        }

    before = topic(mail("a@example.com"), mail("b@example.com"), filtered="low")
    after = topic(mail("b@example.com"), mail("c@example.com"), filtered="high", DisplayName="Pod")
    made = stacks.deploy("topic", before, Name=att("Topic", "TopicName"))
    changed = stacks.deploy("topic", after)
    arn = made.ids["Topic"]
    subscriptions = sns.list_subscriptions_by_topic(TopicArn=arn)["Subscriptions"]
    attributes = sns.get_topic_attributes(TopicArn=arn)["Attributes"]
    hook = sns.get_subscription_attributes(SubscriptionArn=made.ids["Hook"])["Attributes"]

    assert made.status == "CREATE_COMPLETE", made.reasons
    assert changed.status == "UPDATE_COMPLETE", changed.reasons
    assert changed.ids["Topic"] == arn == f"arn:aws:sns:{REGION}:{ACCOUNT}:{made.outputs['Name']}"
    assert changed.ids["Hook"] == made.ids["Hook"]
    assert sorted(item["Endpoint"] for item in subscriptions) == [
        "b@example.com",
        "c@example.com",
        "https://hooks.example.com/pod",
    ]
    assert json.loads(hook["FilterPolicy"]) == {"severity": ["high"]}
    assert attributes["DisplayName"] == "Pod"
    assert json.loads(attributes["Policy"]) == policy

    without_policy = {name: after[name] for name in ("Topic", "Hook")}
    stacks.deploy("topic", without_policy)
    attributes = sns.get_topic_attributes(TopicArn=arn)["Attributes"]
    (statement,) = json.loads(attributes["Policy"])["Statement"]
    assert statement["Condition"] == {"StringEquals": {"AWS:SourceOwner": ACCOUNT}}
    assert stacks.delete("topic").status == "DELETE_COMPLETE"
    assert sns.list_topics()["Topics"] == sns.list_subscriptions()["Subscriptions"] == []


@pytest.mark.parametrize(
    ("subscription", "reason"),
    [
        (mail("nobody"), "Invalid parameter: Email address"),
        ({"Protocol": "pigeon", "Endpoint": "roof"}, "Invalid parameter: Protocol"),
    ],
)
def test_a_subscription_that_sns_refuses_fails(
    stacks: Stacks, subscription: dict[str, str], reason: str
) -> None:
    outcome = stacks.deploy("topic", {"T": resource("SNS::Topic", Subscription=[subscription])})
    stacks.delete("topic")

    assert reason in outcome.reasons


def test_a_secret_keeps_its_generated_value_until_its_rules_change(
    stacks: Stacks, clients: Clients
) -> None:
    def value(arn: str) -> Any:
        answer = clients.service("secretsmanager").get_secret_value(SecretId=arn)
        return json.loads(answer["SecretString"])

    def secret(length: int, **more: Any) -> Resources:
        rules = {
            "SecretStringTemplate": json.dumps({"username": "slurm"}),
            "GenerateStringKey": "password",
            "PasswordLength": length,
            "ExcludePunctuation": True,
        }
        properties = {"Name": "slurmdbd", "GenerateSecretString": rules, **more}
        return {"Secret": resource("SecretsManager::Secret", **properties)}

    made = stacks.deploy("secret", secret(20), Id=att("Secret", "Id"))
    arn = made.ids["Secret"]
    first = value(arn)
    stacks.deploy("secret", secret(20, Description="for accounting"))
    second = value(arn)
    stacks.deploy("secret", secret(30))
    third = value(arn)

    assert made.outputs["Id"] == arn
    assert first.keys() == {"username", "password"}
    assert len(first["password"]) == 20
    assert first == second
    assert len(third["password"]) == 30
    assert stacks.delete("secret").status == "DELETE_COMPLETE"
    assert stacks.deploy("secret", secret(20)).status == "CREATE_COMPLETE"
    stacks.delete("secret")


def test_a_rule_comes_changes_and_goes(stacks: Stacks, clients: Clients) -> None:
    events = clients.service("events")

    def rule(*targets: str, **more: Any) -> Resources:
        pattern = {"source": ["aws.sagemaker"], "detail-type": ["SageMaker HyperPod Cluster Event"]}
        listed = [{"Id": name, "Arn": ref("Topic")} for name in targets]
        properties = {"EventPattern": pattern, "Targets": listed, **more}
        return {"Topic": resource("SNS::Topic"), "Rule": resource("Events::Rule", **properties)}

    made = stacks.deploy("rule", rule("a", "b"), Arn=att("Rule", "Arn"))
    changed = stacks.deploy("rule", rule("b", "c", State="DISABLED", Description="off"))
    found = events.describe_rule(Name=made.ids["Rule"])
    targets = events.list_targets_by_rule(Rule=made.ids["Rule"])["Targets"]

    assert made.status == "CREATE_COMPLETE", made.reasons
    assert changed.ids == made.ids
    assert made.outputs["Arn"] == found["Arn"]
    assert (found["State"], found["Description"]) == ("DISABLED", "off")
    assert sorted(target["Id"] for target in targets) == ["b", "c"]
    assert stacks.delete("rule").status == "DELETE_COMPLETE"
    assert events.list_rules()["Rules"] == []


def test_a_rule_without_pattern_and_schedule_fails(stacks: Stacks) -> None:
    outcome = stacks.deploy("rule", {"Rule": resource("Events::Rule", Description="nothing")})
    stacks.delete("rule")

    assert "EventPattern or ScheduleExpression must be specified" in outcome.reasons


@pytest.mark.parametrize(
    ("traffic", "destination"),
    [
        ("ALL", {"LogGroupName": "flows", "DeliverLogsPermissionArn": "arn:aws:iam::1:role/r"}),
        ("REJECT", {"LogDestinationType": "s3", "LogDestination": "arn:aws:s3:::flow-bucket"}),
        ("ALL", {"LogDestinationType": "s3", "LogDestination": "arn:aws:s3:::flow-bucket/vpc/"}),
    ],
)
def test_flow_logs_go_where_they_are_sent(
    stacks: Stacks, clients: Clients, traffic: str, destination: dict[str, str]
) -> None:
    resources: Resources = {
        "Vpc": vpc(),
        "Bucket": resource("S3::Bucket", BucketName="flow-bucket"),
        "Flows": resource(
            "EC2::FlowLog",
            ResourceId=ref("Vpc"),
            ResourceType="VPC",
            TrafficType=traffic,
            depends_on="Bucket",
            **destination,
        ),
    }
    outcome = stacks.deploy("flows", resources)

    assert outcome.status == "CREATE_COMPLETE", outcome.reasons
    (flow_log,) = clients.ec2.describe_flow_logs(FlowLogIds=[outcome.ids["Flows"]])["FlowLogs"]
    assert flow_log["TrafficType"] == traffic
    assert flow_log.get("LogDestination") == destination.get("LogDestination")
    assert stacks.delete("flows").status == "DELETE_COMPLETE"
