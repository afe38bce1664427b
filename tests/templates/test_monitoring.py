"""Who is told of what: topics, alarms, the dashboard, the budget."""

from __future__ import annotations

import json
from typing import Any

import pytest

from slurmpod_cdk.monitoring.alarms import nearly_full
from tests.templates.synthesis import Resource, Template, of_type, only, synthesized_file
from tests.templates.watched import (
    RULE,
    SEVERITIES,
    TOPIC,
    alarms,
    section,
    statements,
    topics,
    watched,
)

GIB = 2**30


@pytest.fixture(scope="module")
def template() -> Template:
    return watched().templates["monitoring"]


def subscriptions(template: Template, severity: str) -> list[tuple[str, str]]:
    topic = topics(template)[severity]
    found = (each["Properties"] for each in of_type(template, "AWS::SNS::Subscription").values())
    return [
        (each["Protocol"], each["Endpoint"]) for each in found if each["TopicArn"] == {"Ref": topic}
    ]


class TestTopics:
    def test_there_is_one_for_each_severity(self, template: Template) -> None:
        assert sorted(topics(template)) == sorted(SEVERITIES)

    def test_subscribers_are_those_of_the_environment(self, template: Template) -> None:
        assert {severity: subscriptions(template, severity) for severity in SEVERITIES} == {
            "critical": [
                ("email", "oncall@example.com"),
                ("https", "https://alerts.example.com/hyperpod"),
            ],
            "warning": [("email", "platform-team@example.com")],
            "info": [("email", "platform-log@example.com")],
        }

    def test_another_subscriber_leaves_the_others_alone(self, template: Template) -> None:
        one_more = watched(("[oncall@example.com]", "[boss@example.com, oncall@example.com]"))
        before = of_type(template, "AWS::SNS::Subscription")
        after = of_type(one_more.templates["monitoring"], "AWS::SNS::Subscription")
        assert before.items() < after.items()

    def test_they_are_encrypted_with_the_key(self, template: Template) -> None:
        (key,) = of_type(template, "AWS::KMS::Key")
        for topic in of_type(template, TOPIC).values():
            assert topic["Properties"]["KmsMasterKeyId"] == {"Fn::GetAtt": [key, "Arn"]}

    def test_they_take_and_give_messages_by_tls_only(self, template: Template) -> None:
        for policy in of_type(template, "AWS::SNS::TopicPolicy").values():
            denied = [
                statement
                for statement in policy["Properties"]["PolicyDocument"]["Statement"]
                if statement["Effect"] == "Deny"
            ]
            assert [each["Condition"] for each in denied] == [
                {"Bool": {"aws:SecureTransport": "false"}}
            ]
            assert [each["Principal"] for each in denied] == ["*"]

    def test_services_publish_for_this_account_only(self, template: Template) -> None:
        policy = next(iter(of_type(template, "AWS::SNS::TopicPolicy").values()))
        found = statements(policy["Properties"]["PolicyDocument"])
        for service in ("Cloudwatch", "Budgets"):
            condition = found[f"Publish{service}"]["Condition"]
            assert condition["StringEquals"] == {"aws:SourceAccount": "123456789012"}
        assert "Condition" not in found["PublishEvents"], "EventBridge names no source"


class TestKey:
    def test_it_turns_and_outlives_its_stack(self, template: Template) -> None:
        (key,) = of_type(template, "AWS::KMS::Key").values()
        assert key["Properties"]["EnableKeyRotation"] is True
        assert key["DeletionPolicy"] == "RetainExceptOnCreate"
        assert key["UpdateReplacePolicy"] == "Retain"

    def test_logs_of_this_cluster_are_encrypted_and_no_others(self, template: Template) -> None:
        found = statements(only(template, "AWS::KMS::Key")["KeyPolicy"])["EncryptLogs"]
        assert found["Condition"]["ArnLike"]["kms:EncryptionContext:aws:logs:arn"] == [
            "arn:aws:logs:us-west-2:123456789012:log-group:/aws/sagemaker/Clusters/watched/*",
            "arn:aws:logs:us-west-2:123456789012:log-group:watched-*",
        ]

    def test_the_users_own_key_is_taken_instead(self) -> None:
        template = synthesized_file("watched").templates["monitoring"]
        assert of_type(template, "AWS::KMS::Key") == {}
        (topic, *_) = of_type(template, TOPIC).values()
        assert topic["Properties"]["KmsMasterKeyId"].startswith("arn:aws:kms:us-west-2:")


class TestAlarms:
    def test_each_tells_a_topic_of_the_environment_when_it_begins_and_ends(
        self, template: Template
    ) -> None:
        known = [{"Ref": topic} for topic in topics(template).values()]
        found = alarms(template)
        assert found
        for alarm in found.values():
            assert alarm["AlarmActions"] == alarm["OKActions"]
            assert len(alarm["AlarmActions"]) == 1
            assert alarm["AlarmActions"][0] in known
            assert alarm["AlarmDescription"]

    def test_each_says_what_a_missing_point_means(self, template: Template) -> None:
        assert all(alarm["TreatMissingData"] for alarm in alarms(template).values())

    def test_each_file_system_has_its_limits(self, template: Template) -> None:
        found = alarms(template)
        limits = {
            name: (alarm["Threshold"], alarm["EvaluationPeriods"])
            for name, alarm in found.items()
            if name.startswith("Storage")
        }
        assert limits == {
            "StorageLustreFull": (80, 5),
            "StorageLustreDiskFull": (90, 5),
            "StorageLustreBusy": (90, 6),
            "StorageOpenZfsFull": (80, 5),
            "StorageOpenZfsBusy": (90, 6),
        }

    def test_a_full_disk_is_critical_and_a_full_file_system_a_warning(
        self, template: Template
    ) -> None:
        found, by_severity = alarms(template), topics(template)
        assert found["StorageLustreDiskFull"]["AlarmActions"] == [{"Ref": by_severity["critical"]}]
        assert found["StorageLustreFull"]["AlarmActions"] == [{"Ref": by_severity["warning"]}]

    def test_used_capacity_is_what_is_not_free_of_all_disks(self, template: Template) -> None:
        expression, *metrics = alarms(template)["StorageLustreFull"]["Metrics"]
        assert expression["Expression"] == f"100 - 100 * free / {1200 * GIB}"
        (stat,) = (each["MetricStat"] for each in metrics)
        assert (stat["Stat"], stat["Period"]) == ("Sum", 60), "one point for each disk a minute"
        assert stat["Metric"]["MetricName"] == "FreeDataStorageCapacity"

    def test_the_fullest_disk_counts_with_its_own_share(self, template: Template) -> None:
        expression, *metrics = alarms(template)["StorageLustreDiskFull"]["Metrics"]
        assert expression["Expression"] == f"100 - 100 * least * disks / {1200 * GIB}"
        assert {each["Id"]: each["MetricStat"]["Stat"] for each in metrics} == {
            "least": "Minimum",
            "disks": "SampleCount",
        }

    def test_throughput_is_a_part_of_what_is_provisioned(self, template: Template) -> None:
        expression = alarms(template)["StorageLustreBusy"]["Metrics"][0]["Expression"]
        bytes_per_second = round(1200 / 1024 * 250 * 10**6)
        assert expression == f"100 * (read + written) / PERIOD(read) / {bytes_per_second}"

    def test_each_nat_gateway_counts_both_directions_for_an_hour(self, template: Template) -> None:
        alarm = next(each for name, each in alarms(template).items() if "NatGateways" in name)
        metrics = [each["MetricStat"] for each in alarm["Metrics"] if "MetricStat" in each]
        assert sorted(each["Metric"]["MetricName"] for each in metrics) == [
            "BytesInFromDestination",
            "BytesOutToDestination",
        ]
        assert {each["Period"] for each in metrics} == {3600}
        assert (alarm["Threshold"], alarm["EvaluationPeriods"]) == (500, 1)

    def test_an_alarm_that_nobody_asked_for_is_not_there(self) -> None:
        silent = watched(
            ("    file_system_throughput_percent: 90\n", ""), ("    nat_gib_per_hour: 500\n", "")
        )
        names = alarms(silent.templates["monitoring"])
        assert not [name for name in names if "Busy" in name or "NatGateways" in name]

    def test_what_grows_by_itself_never_fills_up(self) -> None:
        settings = "storage_type: INTELLIGENT_TIERING\n    throughput_mbps: 4000\n"
        tiering = watched(("lustre:\n    capacity_gib: 1200\n", f"lustre:\n    {settings}"))
        names = list(alarms(tiering.templates["monitoring"]))
        assert "StorageLustreFull" not in names
        assert "StorageLustreBusy" in names

    @pytest.mark.parametrize(("percent", "nearly"), [(80, 90), (85, 93), (99, 100), (1, 51)])
    def test_a_disk_is_nearly_full_between_the_limit_and_the_end(
        self, percent: int, nearly: int
    ) -> None:
        assert nearly_full(percent) == nearly


class TestEvents:
    def test_every_rule_sends_to_a_topic_and_keeps_what_cannot_be_sent(
        self, template: Template
    ) -> None:
        known = [{"Ref": topic} for topic in topics(template).values()]
        (queue,) = of_type(template, "AWS::SQS::Queue")
        for rule in of_type(template, RULE).values():
            (target,) = rule["Properties"]["Targets"]
            assert target["Arn"] in known
            assert target["DeadLetterConfig"] == {"Arn": {"Fn::GetAtt": [queue, "Arn"]}}
            assert "RoleArn" not in target, "topics have their own policies"

    def test_every_variable_of_a_text_is_known(self, template: Template) -> None:
        for rule in of_type(template, RULE).values():
            transformer = rule["Properties"]["Targets"][0]["InputTransformer"]
            lines = [json.loads(line) for line in transformer["InputTemplate"].splitlines()]
            text = " ".join(lines)
            used = {name for name in transformer["InputPathsMap"] if f"<{name}>" in text}
            assert used == set(transformer["InputPathsMap"])
            assert text.count("<") == sum(text.count(f"<{name}>") for name in used)

    def test_the_queue_takes_messages_of_these_rules_only(self, template: Template) -> None:
        policy = only(template, "AWS::SQS::QueuePolicy")["PolicyDocument"]
        condition = statements(policy)["KeepUndelivered"]["Condition"]
        rules = [{"Fn::GetAtt": [name, "Arn"]} for name in of_type(template, RULE)]
        assert condition == {"ArnEquals": {"aws:SourceArn": rules}}


class TestDashboard:
    def body(self, template: Template) -> str:
        return json.dumps(only(template, "AWS::CloudWatch::Dashboard")["DashboardBody"])

    def test_it_shows_nodes_file_systems_and_ways_out(self, template: Template) -> None:
        body = self.body(template)
        for metric in (
            "NodesInService",
            "NodesWanted",
            "LifecycleFailures-watched",
            "FreeDataStorageCapacity",
            "UsedStorageCapacity",
            "DataReadBytes",
            "BytesOutToDestination",
        ):
            assert metric in body

    def test_it_leads_to_the_logs(self, template: Template) -> None:
        prefix = "$252Faws$252Fsagemaker$252FClusters$252Fwatched$252F"
        assert f"logsV2:log-groups$3FlogGroupNameFilter$3D{prefix}" in self.body(template)

    def test_it_is_left_out_on_request(self) -> None:
        silent = watched(("dashboard: true", "dashboard: false"))
        assert of_type(silent.templates["monitoring"], "AWS::CloudWatch::Dashboard") == {}


def budget(template: Template) -> Resource:
    return only(template, "AWS::Budgets::Budget")


class TestBudget:
    def test_it_counts_what_carries_the_tag_in_a_month(self, template: Template) -> None:
        assert budget(template)["Budget"] == {
            "BudgetType": "COST",
            "TimeUnit": "MONTHLY",
            "BudgetLimit": {"Amount": 20000, "Unit": "USD"},
            "CostFilters": {"TagKeyValue": ["user:slurmpod:environment$watched"]},
        }

    def test_it_has_no_name_that_a_new_one_would_clash_with(self, template: Template) -> None:
        assert "BudgetName" not in budget(template)["Budget"]

    def test_people_and_the_topic_are_told_at_each_part(self, template: Template) -> None:
        told = budget(template)["NotificationsWithSubscribers"]
        assert [
            (each["Notification"]["NotificationType"], each["Notification"]["Threshold"])
            for each in told
        ] == [("ACTUAL", 50), ("ACTUAL", 80), ("ACTUAL", 100), ("FORECASTED", 110)]
        expected = [
            {"SubscriptionType": "EMAIL", "Address": "finance@example.com"},
            {"SubscriptionType": "EMAIL", "Address": "platform-team@example.com"},
            {"SubscriptionType": "SNS", "Address": {"Ref": topics(template)["warning"]}},
        ]
        assert all(each["Subscribers"] == expected for each in told)

    def test_it_comes_after_the_policy_that_lets_it_publish(self, template: Template) -> None:
        (resource,) = of_type(template, "AWS::Budgets::Budget").values()
        assert of_type(template, "AWS::SNS::TopicPolicy").keys() <= set(resource["DependsOn"])

    def test_an_output_says_that_the_tag_has_to_be_activated(self, template: Template) -> None:
        output = template["Outputs"]["CostAllocationTag"]
        assert output["Value"] == "slurmpod:environment"
        assert "Activate" in output["Description"]

    def test_it_stands_alone_where_nothing_else_is_watched(self) -> None:
        alone = watched((section("monitoring"), ""))
        template = alone.templates["monitoring"]
        assert {each["Type"] for each in template["Resources"].values()} == {"AWS::Budgets::Budget"}
        assert "cluster-watch" not in alone.templates
        subscribers = budget(template)["NotificationsWithSubscribers"][0]["Subscribers"]
        assert {each["SubscriptionType"] for each in subscribers} == {"EMAIL"}


def test_an_environment_that_asks_for_nothing_has_no_such_stack(dev: Any) -> None:
    assert "monitoring" not in dev.templates
    assert "cluster-watch" not in dev.templates


def test_another_file_system_gets_the_alarms_of_the_one_before() -> None:
    def generation(*changes: tuple[str, str]) -> object:
        return watched(*changes).templates["monitoring"]["Metadata"]["generation"]

    assert generation() != generation(("capacity_gib: 1200", "deployment_type: SCRATCH_2"))
    assert generation() == generation(("monthly_usd: 20000", "monthly_usd: 30000"))


def test_it_comes_before_the_cluster_and_what_watches_the_cluster_after_it() -> None:
    order = watched().resolved.stacks.in_order()
    assert order.index("watched-monitoring") < order.index("watched-cluster")
    assert order.index("watched-cluster") < order.index("watched-cluster-watch")
