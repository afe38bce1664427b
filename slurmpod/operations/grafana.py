"""Uploading an environment's data source and dashboards to its Grafana workspace."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.grafana import GrafanaAccess
from slurmpod.metrics.dashboards import DASHBOARDS
from slurmpod.metrics.grafana import DATA_SOURCE, dashboard_json
from slurmpod.operations.deployed import LiveEnvironment
from slurmpod.problems import WorkFailed
from slurmpod.resolve import Resolved

TIMEOUT_SECONDS = 30
LOOPBACK = "127.0.0.1:"


class GrafanaRefused(WorkFailed):
    """Grafana rejected a request, or did not answer; the text says which."""


@dataclass(frozen=True)
class GrafanaAddresses:
    """The addresses of Grafana and Prometheus of a deployed environment."""

    workspace_id: str
    grafana_url: str
    prometheus_url: str


def addresses_of(live: LiveEnvironment) -> GrafanaAddresses:
    """Return the addresses from the monitoring stack; AwsUnavailable if it is not deployed."""
    monitoring = live.resolved.stacks.monitoring
    outputs = live.outputs(monitoring)
    try:
        return GrafanaAddresses(
            workspace_id=outputs["GrafanaWorkspaceId"],
            grafana_url=_url(outputs["GrafanaEndpoint"]),
            prometheus_url=outputs["PrometheusEndpoint"].rstrip("/"),
        )
    except KeyError:
        raise AwsUnavailable(
            f"the stack {monitoring} is not deployed with a Grafana workspace"
        ) from None


def prometheus_url_of(live: LiveEnvironment) -> str:
    """Return the address of the Prometheus workspace; AwsUnavailable if it is not deployed."""
    monitoring = live.resolved.stacks.monitoring
    url = live.outputs(monitoring).get("PrometheusEndpoint")
    if not url:
        raise AwsUnavailable(f"the stack {monitoring} is not deployed with a Prometheus workspace")
    return url


def _url(endpoint: str) -> str:
    """Return the URL of a host that AWS names without a scheme; rehearsals use no TLS."""
    scheme = "http" if endpoint.startswith(LOOPBACK) else "https"
    return f"{scheme}://{endpoint}"


def push(access: GrafanaAccess, addresses: GrafanaAddresses, resolved: Resolved) -> None:
    """Upload the data source and all dashboards, replacing those with the same names.

    Raises AwsUnavailable, and GrafanaRefused if Grafana rejects a request.
    """
    assert resolved.monitoring  # noqa: S101  # the command has checked
    assert resolved.monitoring.prometheus  # noqa: S101
    scrape_seconds = resolved.monitoring.prometheus.scrape_seconds
    source = _data_source(addresses, resolved.region, scrape_seconds)
    with access.token(addresses.workspace_id) as token:
        api = _Api(addresses.grafana_url, token)
        known = f"/api/datasources/uid/{DATA_SOURCE.uid}"
        if api.ask("GET", known, missing_is_none=True) is None:
            api.ask("POST", "/api/datasources", source)
        else:
            api.ask("PUT", known, source)
        for dashboard in DASHBOARDS:
            page = json.loads(dashboard_json(dashboard, resolved.name))
            api.ask("POST", "/api/dashboards/db", {"dashboard": page, "overwrite": True})


def _data_source(addresses: GrafanaAddresses, region: str, scrape_seconds: int) -> dict[str, Any]:
    """Return the data source: Grafana queries with its workspace's role.

    Source: Amazon Managed Grafana user guide, "Connect to an Amazon Managed Service for Prometheus
    data source".
    """
    return {
        "uid": DATA_SOURCE.uid,
        "name": "slurmpod",
        "type": "prometheus",
        "access": "proxy",
        "url": addresses.prometheus_url,
        "isDefault": True,
        "jsonData": {
            "httpMethod": "POST",
            "sigV4Auth": True,
            "sigV4AuthType": "workspace-iam-role",
            "sigV4Region": region,
            "timeInterval": f"{scrape_seconds}s",
        },
    }


class _Api:
    """Grafana's HTTP API; the token goes to this one host and is in no text."""

    def __init__(self, url: str, token: str) -> None:
        self._parts = urlsplit(url)
        self._token = token

    def ask(
        self, method: str, path: str, body: object = None, *, missing_is_none: bool = False
    ) -> Any:
        """Send a request and return the answer; None for a missing object, if that is no error."""
        is_secure = self._parts.scheme == "https"
        kind = http.client.HTTPSConnection if is_secure else http.client.HTTPConnection
        connection = kind(self._parts.netloc, timeout=TIMEOUT_SECONDS)
        headers = {
            "Accept": "application/json",
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
        }
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, f"{self._parts.path}{path}", body=text, headers=headers)
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise GrafanaRefused(f"{self._parts.netloc} does not answer: {error}") from None
        finally:
            connection.close()
        if missing_is_none and answer.status == http.client.NOT_FOUND:
            return None
        if answer.status >= http.client.BAD_REQUEST:
            said = content.decode(errors="replace")[:300]
            raise GrafanaRefused(f"Grafana refused {method} {path} ({answer.status}): {said}")
        return json.loads(content or b"{}")
