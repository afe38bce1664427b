"""Signed queries to a workspace of Amazon Managed Service for Prometheus.

Source: its user guide, "Prometheus-compatible APIs".
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import AwsUnavailable, as_unavailable

OK = 200


@dataclass(frozen=True)
class PrometheusQueries:
    """Queries the workspace at `url`, or the endpoint that the user's AWS settings name."""

    clients: AwsClients
    url: str

    def range(
        self, query: str, begin: float, end: float, step_seconds: float
    ) -> list[tuple[Mapping[str, str], list[tuple[float, float]]]]:
        """Return the labels and points of all series; raises AwsUnavailable.

        Points are pairs of epoch seconds and value; values that are not numbers are left out.
        """
        asked = {"query": query, "start": begin, "end": end, "step": step_seconds}
        answer = self._ask(f"{self._place()}/api/v1/query_range?{urlencode(asked)}")
        return [(each["metric"], list(_points(each["values"]))) for each in answer["result"]]

    def _ask(self, url: str) -> Any:
        from botocore.auth import SigV4Auth  # its import takes longer than the rest of the command
        from botocore.awsrequest import AWSRequest
        from botocore.httpsession import URLLib3Session

        with as_unavailable("ask Prometheus"):
            request = AWSRequest("GET", url)
            credentials = self.clients.session.get_credentials()
            if credentials is None:
                raise AwsUnavailable("there are no AWS credentials")
            SigV4Auth(credentials, "aps", self.clients.session.region_name).add_auth(request)
            answer = URLLib3Session().send(request.prepare())
        if answer.status_code != OK:
            raise AwsUnavailable(f"Prometheus refused ({answer.status_code}): {answer.text[:300]}")
        return json.loads(answer.text)["data"]

    def _place(self) -> str:
        """Return the workspace's address, or the endpoint that the user's AWS settings name."""
        client = self.clients.session.client("amp", endpoint_url=self.clients.endpoint_url)
        parts, led = urlsplit(self.url.rstrip("/")), urlsplit(str(client.meta.endpoint_url))
        own = parts if f"{led.hostname}".startswith("aps.") else led
        return urlunsplit((own.scheme, own.netloc, parts.path, "", ""))


def _points(values: list[tuple[float, str]]) -> Iterator[tuple[float, float]]:
    return ((at, float(value)) for at, value in values if math.isfinite(float(value)))
