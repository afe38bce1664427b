"""Configuration of a workspace's alert manager: alerts go to SNS, by severity."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from typing import Any

from slurmpod.metrics.alerts import SEVERITIES

MESSAGE = (
    "{{ range .Alerts }}{{ .Status }}: {{ .Annotations.summary }}. {{ .Annotations.action }}\n"
    "{{ end }}"
)


def alert_manager_definition(environment: str, region: str, topic_arns: Mapping[str, str]) -> str:
    """Return the definition, for topics by severity; values may be known later only.

    Its form is AWS's: the configuration is a text in a text. Source: Amazon Managed Service for
    Prometheus user guide, "Create an alert manager configuration".
    """
    receivers = [_receiver(each, environment, region, topic_arns[each]) for each in SEVERITIES]
    routes = [{"matchers": [f'severity="{each}"'], "receiver": each} for each in SEVERITIES]
    configuration = {
        "route": {
            "receiver": SEVERITIES[-1],
            "group_by": ["alertname"],
            "group_wait": "30s",
            "group_interval": "5m",
            "repeat_interval": "12h",
            "routes": routes,
        },
        "receivers": receivers,
    }
    return "alertmanager_config: |\n" + textwrap.indent(json.dumps(configuration, indent=2), "  ")


def _receiver(severity: str, environment: str, region: str, topic_arn: str) -> dict[str, Any]:
    subject = f"{environment}: {severity}: {{{{ .CommonLabels.alertname }}}}"
    sns = {
        "topic_arn": topic_arn,
        "sigv4": {"region": region},
        "subject": subject,
        "message": MESSAGE,
        "attributes": {"severity": severity},
    }
    return {"name": severity, "sns_configs": [sns]}
