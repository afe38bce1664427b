"""Workspaces of Prometheus and Grafana in the embedded AWS, through its CloudFormation."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from embedded_aws.clients import Clients
from slurmpod.metrics.prometheus import alert_manager_definition, rules_yaml
from slurmpod.rehearsal.prometheus_servers import rules_of
from tests.cloud.embedded_stacks import ACCOUNT, REGION, Resources, Stacks, att, ref, resource

TOPICS = dict.fromkeys(("critical", "warning", "info"), f"arn:aws:sns:{REGION}:{ACCOUNT}:t")
DEFINITION = alert_manager_definition("dev", REGION, TOPICS)
TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"Service": "grafana.amazonaws.com"},
            "Action": "sts:AssumeRole",
        }
    ],
}


def workspace(**changes: Any) -> dict[str, Any]:
    properties = {
        "Alias": "dev",
        "AlertManagerDefinition": DEFINITION,
        "WorkspaceConfiguration": {"RetentionPeriodInDays": 150},
        "Tags": [{"Key": "team", "Value": "ml"}],
        **changes,
    }
    return resource("APS::Workspace", **properties)


def with_rules(data: str = "groups: []") -> Resources:
    rules = resource("APS::RuleGroupsNamespace", Name="rules", Workspace=ref("W"), Data=data)
    return {"W": workspace(), "R": rules}


def grafana(**changes: Any) -> Resources:
    properties = {
        "AccountAccessType": "CURRENT_ACCOUNT",
        "AuthenticationProviders": ["AWS_SSO"],
        "PermissionType": "CUSTOMER_MANAGED",
        "GrafanaVersion": "10.4",
        "RoleArn": att("Role", "Arn"),
        **changes,
    }
    role = resource("IAM::Role", AssumeRolePolicyDocument=TRUST)
    return {"Role": role, "G": resource("Grafana::Workspace", **properties)}


class TestPrometheus:
    def test_a_workspace_and_its_rules(self, stacks: Stacks, clients: Clients) -> None:
        made = stacks.deploy(
            "p",
            with_rules(rules_yaml()),
            id=att("W", "WorkspaceId"),
            url=att("W", "PrometheusEndpoint"),
        )
        assert made.status == "CREATE_COMPLETE", made.reasons
        workspace_id = made.outputs["id"]
        assert made.ids["W"].endswith(f":workspace/{workspace_id}")
        assert made.outputs["url"].endswith(f"/workspaces/{workspace_id}/")
        assert rules_of(clients, workspace_id) == {"rules": rules_yaml()}

        changed = stacks.deploy("p", with_rules('groups: [{"name": "a", "rules": []}]'))
        assert changed.status == "UPDATE_COMPLETE", changed.reasons
        assert changed.ids["W"] == made.ids["W"]
        assert '"a"' in (rules_of(clients, workspace_id) or {})["rules"]

        assert stacks.delete("p").status == "DELETE_COMPLETE"
        assert rules_of(clients, workspace_id) is None

    def test_tags_and_alias_change_in_place(self, stacks: Stacks, clients: Clients) -> None:
        made = stacks.deploy("t", {"W": workspace()})
        tags = [{"Key": "team", "Value": "vision"}]
        changed = stacks.deploy("t", {"W": workspace(Alias="prod", Tags=tags)})
        assert (changed.status, changed.ids["W"]) == ("UPDATE_COMPLETE", made.ids["W"])
        amp = clients.service("amp")
        described = amp.describe_workspace(workspaceId=made.ids["W"].rpartition("/")[2])
        assert described["workspace"]["alias"] == "prod"
        assert described["workspace"]["tags"] == {"team": "vision"}
        stacks.delete("t")

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"WorkspaceConfiguration": {"RetentionPeriodInDays": 0}}, "etentionPeriodInDays"),
            ({"AlertManagerDefinition": "receivers: []"}, "Alert Manager Definition"),
            (
                {"AlertManagerDefinition": DEFINITION.replace('"name": "info"', '"name": "x"')},
                "undefined receivers used in route: info",
            ),
            ({"LoggingConfiguration": {"LogGroupArn": "arn:aws:logs:x:1:log-group:a"}}, "':*'"),
        ],
    )
    def test_what_the_service_refuses(
        self, stacks: Stacks, changes: dict[str, Any], reason: str
    ) -> None:
        refused = stacks.deploy("bad", {"W": workspace(**changes)})
        assert refused.status != "CREATE_COMPLETE"
        assert reason in refused.reasons
        stacks.delete("bad")

    @pytest.mark.parametrize(
        "data", ["no: groups", "- [", '{"groups": [{"name": "a"}, {"name": "a"}]}']
    )
    def test_rules_that_are_none(self, stacks: Stacks, data: str) -> None:
        refused = stacks.deploy("bad", with_rules(data))
        assert refused.status == "ROLLBACK_COMPLETE"
        assert "error validating rule groups" in refused.reasons
        stacks.delete("bad")


class TestGrafana:
    def test_a_workspace_has_an_address(self, stacks: Stacks, clients: Clients) -> None:
        made = stacks.deploy("g", grafana(), endpoint=att("G", "Endpoint"))
        assert made.status == "CREATE_COMPLETE", made.reasons
        api = clients.service("grafana")
        described = api.describe_workspace(workspaceId=made.ids["G"])["workspace"]
        assert described["endpoint"] == made.outputs["endpoint"]
        assert described["authentication"]["providers"] == ["AWS_SSO"]
        assert made.ids["G"] in [each["id"] for each in api.list_workspaces()["workspaces"]]
        raised = stacks.deploy("g", grafana(GrafanaVersion="12.4"))
        assert (raised.status, raised.ids["G"]) == ("UPDATE_COMPLETE", made.ids["G"])
        lowered = stacks.deploy("g", grafana(GrafanaVersion="9.4"))
        assert "cannot be lowered" in lowered.reasons
        stacks.delete("g")
        with pytest.raises(ClientError, match="not found"):
            api.describe_workspace(workspaceId=made.ids["G"])

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"AuthenticationProviders": ["LDAP"]}, "LDAP"),
            ({"RoleArn": f"arn:aws:iam::{ACCOUNT}:role/nobody"}, "nobody"),
        ],
    )
    def test_what_the_service_refuses(
        self, stacks: Stacks, changes: dict[str, Any], reason: str
    ) -> None:
        refused = stacks.deploy("bad", grafana(**changes))
        assert refused.status == "ROLLBACK_COMPLETE"
        assert reason in refused.reasons
        stacks.delete("bad")


def test_an_unknown_workspace_has_no_rules(stacks: Stacks, clients: Clients) -> None:
    assert stacks
    assert rules_of(clients, "ws-0") is None
    with pytest.raises(ClientError):
        clients.service("amp").describe_workspace(workspaceId="ws-0")
