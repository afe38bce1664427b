"""What watches a cluster, as CloudFormation resources: queues, filters, dashboards, budgets."""

from __future__ import annotations

import json
from typing import Any

import pytest

from embedded_aws.clients import Clients
from tests.cloud.embedded_stacks import ACCOUNT, REGION, Resources, Stacks, att, ref, resource
from tests.cloud.test_embedded_keys import LOGS, OWNER, key

TAG = [{"Key": "slurmpod:environment", "Value": "pod"}]
GROUP = "/aws/sagemaker/Clusters/pod/abcdefghijkl"


def test_a_queue_with_its_policy_comes_changes_and_goes(stacks: Stacks, clients: Clients) -> None:
    sqs = clients.service("sqs")
    policy = {"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage"}]}

    def queue(**more: Any) -> Resources:
        return {
            "Queue": resource("SQS::Queue", SqsManagedSseEnabled=True, **more),
            "Policy": resource("SQS::QueuePolicy", Queues=[ref("Queue")], PolicyDocument=policy),
        }

    made = stacks.deploy("queue", queue(Tags=TAG), Arn=att("Queue", "Arn"))
    changed = stacks.deploy("queue", queue(MessageRetentionPeriod=1_209_600))
    url = made.ids["Queue"]
    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]

    assert made.status == "CREATE_COMPLETE", made.reasons
    assert changed.status == "UPDATE_COMPLETE", changed.reasons
    assert changed.ids["Queue"] == url
    assert made.outputs["Arn"] == found["QueueArn"]
    assert found["MessageRetentionPeriod"] == "1209600"
    assert json.loads(found["Policy"]) == policy
    assert sqs.list_queue_tags(QueueUrl=url).get("Tags", {}) == {}
    assert stacks.delete("queue").status == "DELETE_COMPLETE"
    assert sqs.list_queues().get("QueueUrls", []) == []


def test_a_dashboard_comes_changes_and_goes(stacks: Stacks, clients: Clients) -> None:
    cloudwatch = clients.service("cloudwatch")

    def dashboard(text: str) -> Resources:
        body = json.dumps({"widgets": [{"type": "text", "properties": {"markdown": text}}]})
        given: dict[str, Any] = {"DashboardName": "pod", "DashboardBody": body, "Tags": TAG}
        return {"Dashboard": resource("CloudWatch::Dashboard", **given)}

    made = stacks.deploy("dashboard", dashboard("before"))
    changed = stacks.deploy("dashboard", dashboard("after"))
    body = cloudwatch.get_dashboard(DashboardName="pod")["DashboardBody"]

    assert (made.status, changed.status) == ("CREATE_COMPLETE", "UPDATE_COMPLETE")
    assert made.ids == changed.ids == {"Dashboard": "pod"}
    assert "after" in body
    assert stacks.delete("dashboard").status == "DELETE_COMPLETE"
    assert cloudwatch.list_dashboards()["DashboardEntries"] == []


def log_filter(pattern: str = '"FAILED:"') -> dict[str, Any]:
    transformation = {
        "MetricNamespace": "slurmpod",
        "MetricName": "LifecycleFailures-pod",
        "MetricValue": "1",
        "DefaultValue": 0,
        "Unit": "Count",
    }
    return resource(
        "Logs::MetricFilter",
        LogGroupName=GROUP,
        FilterPattern=pattern,
        MetricTransformations=[transformation],
    )


def test_a_filter_needs_its_log_group(stacks: Stacks) -> None:
    refused = stacks.deploy("early", {"Filter": log_filter()})
    stacks.delete("early")

    assert "The specified log group does not exist." in refused.reasons


def call(action: str, **parameters: Any) -> dict[str, Any]:
    text = json.dumps(
        {
            "action": action,
            "service": "cloudwatch-logs",
            "parameters": parameters,
            "physicalResourceId": {"id": action},
            "ignoreErrorCodesMatching": "ResourceAlreadyExistsException",
        }
    )
    properties = {"ServiceToken": "arn:function", "Create": text, "Update": text}
    return {"Type": "Custom::ClusterLogs", "Properties": properties}


def test_the_settings_of_a_log_group_are_made_and_stay(stacks: Stacks, clients: Clients) -> None:
    key_arn = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/"
    keys = stacks.deploy("key", {"Key": key(OWNER, LOGS), "Closed": key(OWNER)})

    def settings(days: int, key_name: str = "Key") -> Resources:
        calls = {
            "Exists": call("CreateLogGroup", logGroupName=GROUP),
            "Retention": call("PutRetentionPolicy", logGroupName=GROUP, retentionInDays=days),
            "Encryption": call(
                "AssociateKmsKey", logGroupName=GROUP, kmsKeyId=key_arn + keys.ids[key_name]
            ),
            "Filter": log_filter(),
        }
        before = dict(zip(list(calls)[1:], list(calls), strict=False))
        return {
            name: each | ({"DependsOn": before[name]} if name in before else {})
            for name, each in calls.items()
        }

    made = stacks.deploy("logs", settings(90))
    changed = stacks.deploy("logs", settings(30))
    refused = stacks.deploy("logs", settings(30, "Closed"))
    (filter_,) = clients.logs.describe_metric_filters(logGroupName=GROUP)["metricFilters"]
    deleted = stacks.delete("logs")
    (group,) = clients.logs.describe_log_groups(logGroupNamePrefix=GROUP)["logGroups"]

    assert (made.status, changed.status) == ("CREATE_COMPLETE", "UPDATE_COMPLETE"), made.reasons
    assert "is not allowed to be used with Arn" in refused.reasons
    assert filter_["filterPattern"] == '"FAILED:"'
    assert deleted.status == "DELETE_COMPLETE"
    assert clients.logs.describe_metric_filters(logGroupName=GROUP)["metricFilters"] == []
    assert group["retentionInDays"] == 30, "logs outlive what set them up"
    assert group["kmsKeyId"].endswith(keys.ids["Key"])


def budget(*parts: int, emails: int = 1, amount: int = 100) -> Resources:
    subscribers = [
        {"SubscriptionType": "EMAIL", "Address": f"finance{number}@example.com"}
        for number in range(emails)
    ]
    notifications = [
        {
            "Notification": {
                "NotificationType": "ACTUAL",
                "ComparisonOperator": "GREATER_THAN",
                "Threshold": part,
                "ThresholdType": "PERCENTAGE",
            },
            "Subscribers": subscribers,
        }
        for part in parts
    ]
    data = {
        "BudgetType": "COST",
        "TimeUnit": "MONTHLY",
        "BudgetLimit": {"Amount": amount, "Unit": "USD"},
        "CostFilters": {"TagKeyValue": ["user:slurmpod:environment$pod"]},
    }
    given: dict[str, Any] = {"Budget": data, "NotificationsWithSubscribers": notifications}
    return {"Budget": resource("Budgets::Budget", ResourceTags=TAG, **given)}


def test_a_budget_comes_changes_in_place_or_as_another_one_and_goes(
    stacks: Stacks, clients: Clients
) -> None:
    budgets = clients.service("budgets")
    made = stacks.deploy("budget", budget(50, 100))
    raised = stacks.deploy("budget", budget(50, 100, amount=200))
    (found,) = budgets.describe_budgets(AccountId=ACCOUNT)["Budgets"]
    replaced = stacks.deploy("budget", budget(80, amount=200))
    names = [each["BudgetName"] for each in budgets.describe_budgets(AccountId=ACCOUNT)["Budgets"]]

    assert made.status == "CREATE_COMPLETE", made.reasons
    assert raised.ids == made.ids
    assert (found["BudgetName"], found["BudgetLimit"]["Amount"]) == (made.ids["Budget"], "200")
    assert replaced.ids != made.ids
    assert names == [replaced.ids["Budget"]]
    assert stacks.delete("budget").status == "DELETE_COMPLETE"
    assert budgets.describe_budgets(AccountId=ACCOUNT)["Budgets"] == []


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (budget(50, 50), "Duplicate notifications"),
        (budget(50, emails=11), "limit of subscribers"),
        (budget(*range(10, 21)), "failed to satisfy constraint"),
    ],
    ids=["twice", "eleven mails", "eleven parts"],
)
def test_a_budget_that_the_service_refuses_fails(
    stacks: Stacks, refused: Resources, reason: str
) -> None:
    outcome = stacks.deploy("refused", refused)
    stacks.delete("refused")

    assert reason in outcome.reasons


def test_a_rule_may_start_its_function(stacks: Stacks, clients: Clients) -> None:
    trust = {
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": "lambda.amazonaws.com"},
                "Action": "sts:AssumeRole",
            }
        ]
    }
    resources = {
        "Role": resource("IAM::Role", AssumeRolePolicyDocument=trust),
        "Function": resource(
            "Lambda::Function",
            Code={"ZipFile": "def handler(*_): pass"},
            Handler="index.handler",
            Role=att("Role", "Arn"),
            Runtime="python3.14",
        ),
        "Rule": resource(
            "Events::Rule",
            ScheduleExpression="rate(5 minutes)",
            Targets=[{"Id": "Function", "Arn": att("Function", "Arn")}],
        ),
        "Permission": resource(
            "Lambda::Permission",
            Action="lambda:InvokeFunction",
            FunctionName=att("Function", "Arn"),
            Principal="events.amazonaws.com",
            SourceArn=att("Rule", "Arn"),
        ),
    }
    made = stacks.deploy("schedule", resources, Rule=att("Rule", "Arn"))
    client = clients.service("lambda")
    policy = json.loads(client.get_policy(FunctionName=made.ids["Function"])["Policy"])
    (statement,) = policy["Statement"]

    assert made.status == "CREATE_COMPLETE", made.reasons
    assert statement["Condition"] == {"ArnLike": {"AWS:SourceArn": made.outputs["Rule"]}}
    assert stacks.delete("schedule").status == "DELETE_COMPLETE"
