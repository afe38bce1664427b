"""Data source and dashboards on their way into Grafana."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request as UrlRequest
from urllib.request import urlopen

import boto3
import pytest

from embedded_aws.clients import Clients, access_key_id
from embedded_aws.grafana import http_api
from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.grafana import ACCOUNT_NAME, TOKEN_SECONDS, GrafanaAccess
from slurmpod.aws.stack import Stack
from slurmpod.environment.environment import Environment
from slurmpod.metrics.dashboards import DASHBOARDS
from slurmpod.metrics.grafana import DATA_SOURCE
from slurmpod.operations.deployed import LiveEnvironment
from slurmpod.operations.grafana import GrafanaAddresses, GrafanaRefused, addresses_of, push
from slurmpod.reading.read import Reading
from slurmpod.resolve import Resolved, resolve
from tests.cloud.embedded_stacks import ACCOUNT, REGION
from tests.sound_environment import sound_data

PROMETHEUS = "https://aps-workspaces.us-west-2.amazonaws.com/workspaces/ws-0"
OUTPUTS = {
    "GrafanaWorkspaceId": "g-1",
    "GrafanaEndpoint": "g-1.grafana-workspace.us-west-2.amazonaws.com",
    "PrometheusEndpoint": f"{PROMETHEUS}/",
}


class Workspace:
    """A workspace of the embedded AWS, as its administrator sees it."""

    def __init__(self, clients: Clients) -> None:
        self.api = clients.service("grafana")
        made = self.api.create_workspace(
            accountAccessType="CURRENT_ACCOUNT",
            authenticationProviders=["AWS_SSO"],
            permissionType="CUSTOMER_MANAGED",
        )["workspace"]
        self.id: str = made["id"]
        self.place = GrafanaAddresses(self.id, f"http://{made['endpoint']}", PROMETHEUS)
        session = boto3.session.Session(
            aws_access_key_id=access_key_id(ACCOUNT), aws_secret_access_key="x", region_name=REGION
        )
        self.access = GrafanaAccess(AwsClients(session, clients.endpoint))

    @property
    def accounts(self) -> list[str]:
        listed = self.api.list_workspace_service_accounts(workspaceId=self.id)
        return [each["name"] for each in listed["serviceAccounts"]]

    def add_account(self, name: str) -> None:
        self.api.create_workspace_service_account(
            workspaceId=self.id, name=name, grafanaRole="ADMIN"
        )

    def ask(self, path: str) -> Any:
        """Return what Grafana's API tells."""
        with self.access.token(self.id) as token:
            headers = {"Authorization": f"Bearer {token}"}
            with urlopen(UrlRequest(f"{self.place.grafana_url}{path}", headers=headers)) as answer:  # noqa: S310  # of this machine
                return json.load(answer)

    @property
    def dashboards(self) -> dict[str, Any]:
        uids = [each["uid"] for each in self.ask("/api/search")]
        return {uid: self.ask(f"/api/dashboards/uid/{uid}")["dashboard"] for uid in uids}

    @property
    def source(self) -> Any:
        return self.ask(f"/api/datasources/uid/{DATA_SOURCE.uid}")

    def push(self) -> None:
        push(self.access, self.place, environment())


@pytest.fixture
def grafana(clients: Clients) -> Workspace:
    return Workspace(clients)


def environment() -> Resolved:
    monitoring = {"prometheus": {"scrape_seconds": 30}, "grafana": {}}
    data = {**sound_data(), "monitoring": monitoring}
    return resolve(Reading(Environment.model_validate(data, strict=False)))


def test_all_dashboards_are_there_and_ask_with_the_workspaces_role(grafana: Workspace) -> None:
    grafana.push()
    dashboards, source = grafana.dashboards, grafana.source
    assert dashboards.keys() == {dashboard.uid for dashboard in DASHBOARDS}
    assert source["url"] == PROMETHEUS
    assert source["jsonData"]["sigV4Auth"] is True
    assert source["jsonData"]["sigV4Region"] == REGION
    assert source["jsonData"]["timeInterval"] == "30s"
    for page in dashboards.values():
        assert {panel["datasource"]["uid"] for panel in page["panels"]} == {source["uid"]}


def test_a_person_sees_what_was_pushed(grafana: Workspace) -> None:
    for is_pushed in (False, True):
        with urlopen(f"{grafana.place.grafana_url}/") as answer:  # noqa: S310  # of this machine
            page = answer.read().decode()
        assert ("There is no dashboard yet" in page) is not is_pushed
        assert (DASHBOARDS[0].panels[0].title in page) is is_pushed
        grafana.push()


def test_a_push_may_be_repeated(grafana: Workspace) -> None:
    for _ in range(2):
        grafana.push()
    assert {page["version"] for page in grafana.dashboards.values()} == {2}


def test_the_way_in_is_closed_again(grafana: Workspace) -> None:
    with grafana.access.token(grafana.id) as token:
        (account,) = grafana.api.list_workspace_service_accounts(workspaceId=grafana.id)[
            "serviceAccounts"
        ]
        (listed,) = grafana.api.list_workspace_service_account_tokens(
            workspaceId=grafana.id, serviceAccountId=account["id"]
        )["serviceAccountTokens"]
        lifetime = (listed["expiresAt"] - listed["createdAt"]).total_seconds()
        assert (account["name"], lifetime) == (ACCOUNT_NAME, TOKEN_SECONDS)
    assert grafana.accounts == []
    for key in (token, ""):
        headers = {"Authorization": f"Bearer {key}"}
        with pytest.raises(HTTPError, match="401"):
            urlopen(UrlRequest(f"{grafana.place.grafana_url}/api/search", headers=headers))  # noqa: S310


def test_what_a_killed_push_left_is_cleared(grafana: Workspace) -> None:
    for name in (ACCOUNT_NAME, "somebody-else"):
        grafana.add_account(name)
    grafana.push()
    assert grafana.accounts == ["somebody-else"]


def test_a_refusal_is_told_without_the_token_and_closes_the_way_in(
    grafana: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = http_api.answer

    def refuse_one(workspace: Any, method: str, path: str, body: Any, token: str) -> Any:
        if body.get("dashboard", {}).get("uid") == DASHBOARDS[1].uid:
            return 500, {"message": "Failed to save dashboard"}
        return kept(workspace, method, path, body, token)

    monkeypatch.setattr(http_api, "answer", refuse_one)
    with pytest.raises(GrafanaRefused, match=r"POST /api/dashboards/db \(500\).*Failed") as refused:
        grafana.push()
    assert "glsa_" not in str(refused.value)
    assert grafana.accounts == []


def test_a_grafana_that_does_not_answer(grafana: Workspace) -> None:
    silent = GrafanaAddresses(grafana.id, "http://127.0.0.1:9", PROMETHEUS)
    with pytest.raises(GrafanaRefused, match="does not answer"):
        push(grafana.access, silent, environment())
    assert grafana.accounts == []


def test_an_unknown_workspace_is_told(grafana: Workspace) -> None:
    unknown = GrafanaAddresses("g-0123456789", grafana.place.grafana_url, PROMETHEUS)
    with pytest.raises(AwsUnavailable, match=r"cannot make a service account.*g-0123456789"):
        push(grafana.access, unknown, environment())


def one_stack(
    monkeypatch: pytest.MonkeyPatch, outputs: Mapping[str, str] | None
) -> LiveEnvironment:
    found = Stack("dev-monitoring", "CREATE_COMPLETE", "", outputs or {})
    stacks = () if outputs is None else (found,)
    monkeypatch.setattr(LiveEnvironment, "stacks", lambda _: stacks)
    return LiveEnvironment(None, environment())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        (OUTPUTS["GrafanaEndpoint"], f"https://{OUTPUTS['GrafanaEndpoint']}"),
        ("127.0.0.1:4242/g-1", "http://127.0.0.1:4242/g-1"),
    ],
)
def test_the_place_is_told_by_the_stack(
    monkeypatch: pytest.MonkeyPatch, endpoint: str, url: str
) -> None:
    outputs = {**OUTPUTS, "GrafanaEndpoint": endpoint}
    found = addresses_of(one_stack(monkeypatch, outputs))
    assert found == GrafanaAddresses("g-1", url, PROMETHEUS)


@pytest.mark.parametrize("outputs", [None, {"PrometheusEndpoint": PROMETHEUS}])
def test_what_is_not_deployed_has_no_place(
    monkeypatch: pytest.MonkeyPatch, outputs: Mapping[str, str] | None
) -> None:
    with pytest.raises(AwsUnavailable, match="dev-monitoring is not deployed with a Grafana"):
        addresses_of(one_stack(monkeypatch, outputs))
