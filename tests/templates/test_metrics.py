"""Where metrics go, and who may read them: workspaces of Prometheus and Grafana."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from slurmpod.metrics.prometheus import rules_yaml
from tests.templates.synthesis import (
    Template,
    example_text,
    of_type,
    only,
    resolved_from,
    synthesize,
    synthesized_file,
)
from tests.templates.watched import topics, watched

WORKSPACE = "AWS::APS::Workspace"
GRAFANA = "AWS::Grafana::Workspace"
ACCOUNT = "123456789012"


@pytest.fixture(scope="module")
def template() -> Template:
    return watched().templates["monitoring"]


def in_text(value: Any) -> str:
    """Return what Fn::Join will give, with references as `<id>`."""
    if isinstance(value, str):
        return value
    if "Fn::Join" in value:
        separator, parts = value["Fn::Join"]
        return str(separator).join(map(in_text, parts))
    return f"<{value.get('Ref') or '.'.join(value['Fn::GetAtt'])}>"


class TestPrometheus:
    def test_keeps_metrics_as_long_as_asked_for(self, template: Template) -> None:
        workspace = only(template, WORKSPACE)
        assert workspace["WorkspaceConfiguration"] == {"RetentionPeriodInDays": 365}
        assert "KmsKeyArn" not in workspace

    def test_is_encrypted_with_a_given_key(self) -> None:
        example = synthesized_file("watched")
        assert example.resolved.monitoring
        assert example.resolved.monitoring.prometheus
        workspace = only(example.templates["monitoring"], WORKSPACE)
        assert workspace["KmsKeyArn"] == example.resolved.monitoring.prometheus.kms_key_arn

    @pytest.mark.parametrize("stack", ["identity", "lifecycle"])
    def test_nodes_follow_to_another_workspace(self, stack: str) -> None:
        """Another key means another workspace, to which references look the same."""
        without, with_key = watched(), synthesized_file("watched")
        assert without.templates[stack] != with_key.templates[stack]

    @pytest.mark.parametrize("kind", [WORKSPACE, GRAFANA])
    def test_what_it_holds_outlives_the_stack(self, template: Template, kind: str) -> None:
        (resource,) = of_type(template, kind).values()
        assert resource["DeletionPolicy"].startswith("Retain")
        assert resource["UpdateReplacePolicy"] == "Retain"

    def test_rules_are_those_that_promtool_has_judged(self, template: Template) -> None:
        rules = only(template, "AWS::APS::RuleGroupsNamespace")
        assert rules["Data"] == rules_yaml()
        assert in_text(rules["Workspace"]).startswith("<PrometheusWorkspace")

    def test_alerts_go_to_the_topic_of_their_severity(self, template: Template) -> None:
        text = in_text(only(template, WORKSPACE)["AlertManagerDefinition"])
        definition = yaml.safe_load(yaml.safe_load(text)["alertmanager_config"])
        found = {each["name"]: each["sns_configs"][0] for each in definition["receivers"]}
        for severity, topic in topics(template).items():
            assert found[severity]["topic_arn"] == f"<{topic}>"
            assert found[severity]["sigv4"] == {"region": "us-west-2"}

    def test_its_logs_are_kept_and_encrypted_as_all_others(self, template: Template) -> None:
        groups = of_type(template, "AWS::Logs::LogGroup").values()
        (group,) = [
            each["Properties"]
            for each in groups
            if each["Properties"].get("LogGroupName") == "/aws/vendedlogs/prometheus/watched"
        ]
        assert group["RetentionInDays"] == 180
        assert "KmsKeyId" in group
        logging = only(template, WORKSPACE)["LoggingConfiguration"]
        assert logging["LogGroupArn"]["Fn::GetAtt"][1] == "Arn"  # which ends with :*

    def test_nodes_are_told_where_to_send(self) -> None:
        synthesized = watched()
        assert "settings.json" in synthesized.bundle.deploy_time_files
        settings = synthesized.bundle.files["settings.json"].decode()
        assert json.loads(settings)["metrics"] == {
            "remote_write_url": "@PROMETHEUS:REMOTE_WRITE_URL@",
            "scrape_seconds": 30,
            "may_install": True,
        }
        deployed = json.dumps(synthesized.templates["lifecycle"])
        assert "PublishOutputFnGetAttPrometheusWorkspace" in deployed


class TestGrafana:
    def test_people_sign_in_as_asked_for(self, template: Template) -> None:
        grafana = only(template, GRAFANA)
        assert grafana["AuthenticationProviders"] == ["AWS_SSO"]
        assert grafana["GrafanaVersion"] == "10.4"
        assert grafana["PluginAdminEnabled"] is False

    def test_saml(self) -> None:
        text = example_text("watched").replace("sign_in: sso", "sign_in: saml")
        changed = synthesize(resolved_from(text)).templates["monitoring"]
        assert only(changed, GRAFANA)["AuthenticationProviders"] == ["SAML"]

    def test_it_reads_this_workspace_and_nothing_else(self, template: Template) -> None:
        (role_id,) = {only(template, GRAFANA)["RoleArn"]["Fn::GetAtt"][0]}
        role = template["Resources"][role_id]["Properties"]
        (policy,) = role["Policies"]
        (statement,) = policy["PolicyDocument"]["Statement"]
        assert all(action.startswith("aps:") for action in statement["Action"])
        assert "aps:RemoteWrite" not in statement["Action"]
        assert in_text(statement["Resource"]).startswith("<PrometheusWorkspace")

    def test_only_grafana_of_this_account_takes_the_role(self, template: Template) -> None:
        (role_id,) = {only(template, GRAFANA)["RoleArn"]["Fn::GetAtt"][0]}
        role = template["Resources"][role_id]["Properties"]
        (trust,) = role["AssumeRolePolicyDocument"]["Statement"]
        assert trust["Principal"] == {"Service": "grafana.amazonaws.com"}
        assert trust["Condition"]["StringEquals"] == {"aws:SourceAccount": ACCOUNT}
        assert template["Resources"][role_id]["DeletionPolicy"].startswith("Retain")

    def test_push_finds_its_way(self, template: Template) -> None:
        outputs = template["Outputs"]
        assert {"GrafanaWorkspaceId", "GrafanaEndpoint", "PrometheusEndpoint"} <= outputs.keys()


def test_nobody_measures_unless_asked_to() -> None:
    text = example_text("watched")
    start, end = text.index("  prometheus:"), text.index("budget:")
    templates = synthesize(resolved_from(text[:start] + "\n" + text[end:])).templates
    kinds = {
        resource["Type"]
        for template in templates.values()
        for resource in template["Resources"].values()
    }
    assert not [kind for kind in kinds if "APS" in kind or "Grafana" in kind]
