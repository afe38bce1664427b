"""What watches nodes and their logs, once the cluster is there."""

from __future__ import annotations

import json
import re

import pytest

from slurmpod_cdk.cluster_watch.alarms import OUR_SCRIPTS_FAILED, SCRIPTS_FAILED, counts_in
from tests.sound_environment import SOUND
from tests.templates.synthesis import (
    Resource,
    Template,
    of_type,
    only,
    resolved_from,
    synthesize,
)
from tests.templates.watched import alarms, statements, topics, watched


@pytest.fixture(scope="module")
def template() -> Template:
    return watched().templates["cluster-watch"]


def extension(settings: str) -> Resource:
    text = SOUND.replace("cluster:\n", "cluster:\n  provisioning: continuous\n")
    text = f"{text}lifecycle: {{mode: extended}}\nmonitoring: {{observability: {settings}}}\n"
    made = synthesize(resolved_from(text))
    return only(made.templates["cluster-watch"], "AWS::SageMaker::Extension")


class TestCollector:
    def test_hyperpods_own_is_an_extension_of_the_cluster(self) -> None:
        properties = extension("{}")
        assert properties["ExtensionName"] == "sagemaker-observability"
        assert "ClusterArn" in str(properties["ClusterArn"])
        assert "ExtensionVersion" not in properties
        assert json.loads(properties["ConfigurationValues"]) == {
            "metricsProvider": {
                "nodeMetrics": {"level": "BASIC"},
                "ncclMetrics": {"level": "DISABLED"},
            }
        }

    def test_its_settings_reach_hyperpod_in_its_words(self) -> None:
        url = "https://aps-workspaces.us-west-2.amazonaws.com/workspaces/ws-1/api/v1/remote_write"
        wanted = "version: 1.0.0, nccl_metrics: true, node_metrics: ADVANCED"
        properties = extension(f"{{{wanted}, remote_write_url: {url}}}")
        assert properties["ExtensionVersion"] == "1.0.0"
        assert json.loads(properties["ConfigurationValues"]) == {
            "prometheus": {"remoteWriteUrl": url},
            "metricsProvider": {
                "nodeMetrics": {"level": "ADVANCED"},
                "ncclMetrics": {"level": "ENABLED"},
            },
        }

    def test_without_it_there_is_none(self, template: Template) -> None:
        assert of_type(template, "AWS::SageMaker::Extension") == {}


class TestLogs:
    def calls(self, template: Template) -> list[Resource]:
        resources = of_type(template, "Custom::ClusterLogs").values()
        return [_call(each["Properties"]["Create"]) for each in resources]

    def test_the_group_gets_retention_key_and_tags_in_this_order(self, template: Template) -> None:
        calls = self.calls(template)
        assert [each["action"] for each in calls] == [
            "CreateLogGroup",
            "PutRetentionPolicy",
            "AssociateKmsKey",
            "TagResource",
        ]
        assert calls[1]["parameters"]["retentionInDays"] == 180
        assert calls[3]["parameters"]["tags"] == dict(watched().resolved.tags)

    def test_a_group_that_is_there_already_is_taken(self, template: Template) -> None:
        exists = self.calls(template)[0]
        assert exists["ignoreErrorCodesMatching"] == "ResourceAlreadyExistsException"

    def test_nothing_is_undone_when_the_stack_goes(self, template: Template) -> None:
        for resource in of_type(template, "Custom::ClusterLogs").values():
            assert "Delete" not in resource["Properties"]

    def test_filters_wait_for_the_group(self, template: Template) -> None:
        made = next(name for name in of_type(template, "Custom::ClusterLogs") if "Exists" in name)
        for resource in of_type(template, "AWS::Logs::MetricFilter").values():
            assert made in resource["DependsOn"]

    def test_our_scripts_are_known_by_their_last_line(self, template: Template) -> None:
        assert patterns(template)["LifecycleFailures-watched"] == OUR_SCRIPTS_FAILED


def patterns(template: Template) -> dict[str, str]:
    found = (each["Properties"] for each in of_type(template, "AWS::Logs::MetricFilter").values())
    return {each["MetricTransformations"][0]["MetricName"]: each["FilterPattern"] for each in found}


def matches(pattern: str, line: str) -> bool:
    """Return whether a line has the quoted terms of a pattern, as CloudWatch Logs decides.

    It must have none that stand behind a minus.
    """
    terms = re.findall(r'(-?)"([^"]*)"', pattern)
    return all((term in line) is (minus == "") for minus, term in terms)


@pytest.mark.parametrize(
    ("line", "is_failure"),
    [
        ("FAILED: mount_fsx: no route to fs-1; fix: open port 988", True),
        ("OK: worker ip-1 is set up, but FAILED: Slurm holds this node down; fix: resume it", True),
        ("OK: controller controller-0 is set up", False),
        ("make: *** [all] Error 1 FAILED: tests", False),
    ],
)
def test_only_the_last_line_of_a_failed_run_counts(line: str, is_failure: bool) -> None:
    assert matches(OUR_SCRIPTS_FAILED, line) is is_failure


def test_scripts_of_the_user_are_known_by_what_hyperpod_writes_behind_them() -> None:
    line = "[SageMaker] The lifecycle scripts failed with exit code 1."
    assert matches(SCRIPTS_FAILED, line)


DCGM_FINDING = {
    "level": "info",
    "msg": "DCGM Policy Violation found ",
    "condition: ": "XID Error",
    "data: ": {"ErrNum": 79},
    "HealthMonitoringAgentDetectionEvent": "HealthEvent",
}
KERNEL_FINDING = {
    "level": "info",
    "msg": "NPD caught event: %v",
    "details: ": {"severity": "warn", "reason": "XidHardwareFailure", "message": "NVRM: Xid 71"},
    "HealthMonitoringAgentDetectionEvent": "HealthEvent",
}
"""As they were seen in logs of clusters with Slurm."""


@pytest.mark.parametrize("finding", [DCGM_FINDING, KERNEL_FINDING])
def test_findings_of_the_health_agent_count_in_the_forms_that_were_seen(
    template: Template, finding: dict[str, object]
) -> None:
    line = json.dumps(finding)
    pattern = patterns(template)["HealthFindings-watched"]
    assert matches(pattern, line)
    assert not matches(pattern, line.replace("HealthMonitoringAgentDetectionEvent", "Other"))


def test_a_mistake_of_a_users_program_is_no_finding(template: Template) -> None:
    line = json.dumps(KERNEL_FINDING).replace("XidHardwareFailure", "XidUserAppError")
    assert not matches(patterns(template)["HealthFindings-watched"], line)


class TestAlarms:
    def test_each_tells_a_topic_of_the_monitoring_stack(self, template: Template) -> None:
        for alarm in alarms(template).values():
            (action,) = alarm["AlarmActions"]
            assert action["Fn::GetStackOutput"]["StackName"] == "watched-monitoring"
            assert alarm["OKActions"] == [action]

    def test_how_bad_each_is(self, template: Template) -> None:
        outputs = watched().templates["monitoring"]["Outputs"]
        severities = {
            logical: name for name, logical in topics(watched().templates["monitoring"]).items()
        }
        found = {}
        for name, alarm in alarms(template).items():
            output = alarm["AlarmActions"][0]["Fn::GetStackOutput"]["OutputName"]
            found[name] = severities[outputs[output]["Value"]["Ref"]]
        assert found == {
            "AlarmsNodesMissing": "critical",
            "AlarmsNodesFailed": "critical",
            "AlarmsLifecycleFailures": "critical",
            "AlarmsHealthFindings": "warning",
            "AlarmsCountingFails": "warning",
        }

    def test_nodes_are_missed_for_as_long_as_the_environment_says(self, template: Template) -> None:
        alarm = alarms(template)["AlarmsNodesMissing"]
        assert (alarm["Period"], alarm["EvaluationPeriods"]) == (300, 18)
        assert (alarm["Threshold"], alarm["ComparisonOperator"]) == (0, "GreaterThanThreshold")
        assert alarm["TreatMissingData"] == "missing"

    @pytest.mark.parametrize(("minutes", "counts"), [(5, 1), (6, 2), (60, 12), (1440, 288)])
    def test_minutes_are_rounded_up_to_counts(self, minutes: int, counts: int) -> None:
        assert counts_in(minutes) == counts

    def test_no_alarm_looks_back_for_more_than_a_day(self, template: Template) -> None:
        """CloudWatch refuses that (PutMetricAlarm)."""
        longest = watched(("missing_nodes_minutes: 90", "missing_nodes_minutes: 1440"))
        for alarm in alarms(longest.templates["cluster-watch"]).values():
            assert alarm["Period"] * alarm["EvaluationPeriods"] <= 86_400

    def test_metrics_are_those_that_are_made(self, template: Template) -> None:
        for name in ("LifecycleFailures", "HealthFindings"):
            metric = alarms(template)[f"Alarms{name}"]["MetricName"]
            assert metric in patterns(template)


class TestNodeCount:
    def policy(self, template: Template) -> dict[str, dict[str, object]]:
        role = next(
            each["Properties"]
            for name, each in of_type(template, "AWS::IAM::Role").items()
            if name.startswith("NodeCount")
        )
        (policy,) = role["Policies"]
        assert "ManagedPolicyArns" not in role
        return statements(policy["PolicyDocument"])

    def test_it_may_ask_for_this_cluster_and_write_our_metrics(self, template: Template) -> None:
        policy = self.policy(template)
        assert policy["AskForNodes"]["Action"] == [
            "sagemaker:DescribeCluster",
            "sagemaker:ListClusterNodes",
        ]
        resource = policy["AskForNodes"]["Resource"]
        assert "ClusterArn" in json.dumps(resource)
        assert "*" not in json.dumps(resource)
        assert policy["WriteMetrics"]["Condition"] == {
            "StringEquals": {"cloudwatch:namespace": "slurmpod"}
        }

    def test_it_runs_every_five_minutes(self, template: Template) -> None:
        assert only(template, "AWS::Events::Rule")["ScheduleExpression"] == "rate(5 minutes)"

    def test_the_template_holds_its_code(self, template: Template) -> None:
        function = next(
            each["Properties"]
            for name, each in of_type(template, "AWS::Lambda::Function").items()
            if name.startswith("NodeCount")
        )
        code = function["Code"]["ZipFile"]
        assert "list_cluster_nodes" in code
        assert len(code) <= 4096, "more is refused (AWS::Lambda::Function Code)"
        assert function["Environment"]["Variables"]["CLUSTER"] == "watched"


def _call(value: object) -> Resource:
    """Return the call of a custom resource, with a word in place of each reference."""
    parts = value["Fn::Join"][1] if isinstance(value, dict) else [value]
    text = "".join(part if isinstance(part, str) else "reference" for part in parts)
    found: Resource = json.loads(text)
    return found
