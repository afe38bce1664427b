"""Data source and dashboards on their way into Grafana."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import boto3
import pytest

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.deployment import Deployment, Stack
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.grafana import ACCOUNT_NAME, TOKEN_SECONDS, GrafanaAccess
from slurmpod.environment.environment import Environment
from slurmpod.metrics.dashboards import DASHBOARDS
from slurmpod.operations.grafana import GrafanaAddresses, GrafanaRefused, addresses_of, push
from slurmpod.reading.read import Reading
from slurmpod.resolve import Resolved, resolve
from tests.functional.grafana_server import GrafanaServer
from tests.sound_environment import sound_data

PROMETHEUS = "https://aps-workspaces.us-west-2.amazonaws.com/workspaces/ws-0"
OUTPUTS = {
    "GrafanaWorkspaceId": "g-1",
    "GrafanaEndpoint": "g-1.grafana-workspace.us-west-2.amazonaws.com",
    "PrometheusEndpoint": f"{PROMETHEUS}/",
}


@pytest.fixture
def grafana() -> Iterator[GrafanaServer]:
    with GrafanaServer() as server:
        yield server


def access(grafana: GrafanaServer) -> GrafanaAccess:
    session = boto3.session.Session(
        aws_access_key_id="AKIAEXAMPLE", aws_secret_access_key="x", region_name="us-west-2"
    )
    return GrafanaAccess(AwsClients(session, grafana.url))


def place(grafana: GrafanaServer) -> GrafanaAddresses:
    return GrafanaAddresses("g-1", grafana.url, PROMETHEUS)


def environment() -> Resolved:
    monitoring = {"prometheus": {"scrape_seconds": 30}, "grafana": {}}
    data = {**sound_data(), "monitoring": monitoring}
    return resolve(Reading(Environment.model_validate(data, strict=False)))


def test_all_dashboards_are_there_and_ask_with_the_workspaces_role(grafana: GrafanaServer) -> None:
    push(access(grafana), place(grafana), environment())
    assert grafana.dashboards.keys() == {dashboard.uid for dashboard in DASHBOARDS}
    (source,) = grafana.sources.values()
    assert source["url"] == PROMETHEUS
    assert source["jsonData"]["sigV4Auth"] is True
    assert source["jsonData"]["sigV4Region"] == "us-west-2"
    assert source["jsonData"]["timeInterval"] == "30s"
    for page in grafana.dashboards.values():
        assert {panel["datasource"]["uid"] for panel in page["panels"]} == {source["uid"]}


def test_a_push_may_be_repeated(grafana: GrafanaServer) -> None:
    for _ in range(2):
        push(access(grafana), place(grafana), environment())
    assert {page["version"] for page in grafana.dashboards.values()} == {2}
    assert len(grafana.sources) == 1


def test_the_way_in_is_closed_again(grafana: GrafanaServer) -> None:
    push(access(grafana), place(grafana), environment())
    assert (grafana.accounts, grafana.tokens) == ({}, {})
    assert grafana.token_lifetimes == [TOKEN_SECONDS]


def test_what_a_killed_push_left_is_cleared(grafana: GrafanaServer) -> None:
    grafana.accounts = {"1": ACCOUNT_NAME, "7": "somebody-else"}
    push(access(grafana), place(grafana), environment())
    assert grafana.accounts == {"7": "somebody-else"}


def test_a_refusal_is_told_without_the_token_and_closes_the_way_in(grafana: GrafanaServer) -> None:
    grafana.refused_dashboard = DASHBOARDS[1].uid
    with pytest.raises(GrafanaRefused, match=r"POST /api/dashboards/db \(500\).*Failed") as refused:
        push(access(grafana), place(grafana), environment())
    assert "glsa_" not in str(refused.value)
    assert grafana.accounts == {}


def test_a_grafana_that_does_not_answer(grafana: GrafanaServer) -> None:
    silent = GrafanaAddresses("g-1", "http://127.0.0.1:9", PROMETHEUS)
    with pytest.raises(GrafanaRefused, match="does not answer"):
        push(access(grafana), silent, environment())
    assert grafana.accounts == {}


def test_an_unknown_workspace_is_told(grafana: GrafanaServer) -> None:
    unknown = GrafanaAddresses("g-2", grafana.url, PROMETHEUS)
    with pytest.raises(AwsUnavailable, match=r"cannot make a service account.*g-2"):
        push(access(grafana), unknown, environment())


class OneStack(Deployment):
    def __init__(self, outputs: Mapping[str, str] | None) -> None:
        self._outputs = outputs

    def stacks(self, names: Iterable[str]) -> tuple[Stack, ...]:
        if self._outputs is None:
            return ()
        return tuple(Stack(name, "CREATE_COMPLETE", "", self._outputs) for name in names)


def test_the_place_is_told_by_the_stack() -> None:
    assert addresses_of(OneStack(OUTPUTS), environment()) == GrafanaAddresses(
        "g-1", f"https://{OUTPUTS['GrafanaEndpoint']}", PROMETHEUS
    )


@pytest.mark.parametrize("outputs", [None, {"PrometheusEndpoint": PROMETHEUS}])
def test_what_is_not_deployed_has_no_place(outputs: Mapping[str, str] | None) -> None:
    with pytest.raises(AwsUnavailable, match="dev-monitoring is not deployed with a Grafana"):
        addresses_of(OneStack(outputs), environment())
