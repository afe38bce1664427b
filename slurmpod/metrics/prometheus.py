"""Configuration of a Prometheus workspace: recording rules, the rules file, the alert manager.

Recording rules compute often-used series once; their names have the form
`level:metric:operations` (Prometheus, "Recording rules"). Windows are five times the longest
interval between two samples that an environment may set.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from slurmpod.metrics.alerts import ACCELERATOR_ALERTS, NODE_ALERTS, SEVERITIES, SLURM_ALERTS, Alert
from slurmpod.metrics.check_alerts import CHECK_ALERTS


@dataclass(frozen=True)
class Recording:
    """A series and its expression."""

    name: str
    expression: str


HELD = "max by (node, gpu, slurm_job, user) (slurmpod_gpu_job)"
HELD_AN_HOUR_AGO = "max by (node, gpu, slurm_job, user) (slurmpod_gpu_job offset 1h)"
"""Excludes the GPU's activity before the job held it."""

RECORDINGS = (
    Recording(
        "slurm:nodes:count",
        "count by (state) (max by (node, state) (slurmpod_slurm_node_state))",
    ),
    Recording(
        "slurm:cpus:sum",
        "sum by (use) (max by (node, use) (slurmpod_slurm_node_cpus))",
    ),
    Recording(
        "slurm:gpus:sum",
        "sum by (use) (max by (node, use) (slurmpod_slurm_node_gpus))",
    ),
    Recording(
        "node:cpu_busy:ratio",
        '1 - avg by (node, group, role) (rate(node_cpu_seconds_total{mode="idle"}[10m]))',
    ),
    Recording(
        "node:gpu_utilization:avg",
        "avg by (node, group) (slurmpod_gpu_utilization_ratio)",
    ),
    Recording(
        "job:gpus:count",
        f"count by (slurm_job, user) ({HELD})",
    ),
    Recording(
        "job:gpu_utilization:avg",
        f"avg by (slurm_job, user) ({HELD} * on (node, gpu) group_left ()"
        " max by (node, gpu) (slurmpod_gpu_utilization_ratio))",
    ),
    Recording(
        "job:gpus_idle:count",
        f"count by (slurm_job, user) ({HELD} and {HELD_AN_HOUR_AGO} and on (node, gpu)"
        " max by (node, gpu) (max_over_time(slurmpod_gpu_utilization_ratio[1h])) == 0)",
    ),
    Recording(
        "node:efa_bytes:rate",
        "sum by (node, group, kind) (rate(slurmpod_efa_bytes_total[10m]))",
    ),
)


GROUPS = (
    ("slurm", SLURM_ALERTS),
    ("checks", CHECK_ALERTS),
    ("accelerators", ACCELERATOR_ALERTS),
    ("nodes", NODE_ALERTS),
)


def rules_yaml() -> str:
    """Return the text of the rules file."""
    groups = [{"name": "recordings", "rules": [_recording(each) for each in RECORDINGS]}]
    groups += [
        {"name": name, "rules": [_alert(each) for each in alerts]} for name, alerts in GROUPS
    ]
    return yaml.safe_dump({"groups": groups}, sort_keys=False, width=100)


def _recording(recording: Recording) -> dict[str, Any]:
    return {"record": recording.name, "expr": recording.expression}


def _alert(alert: Alert) -> dict[str, Any]:
    return {
        "alert": alert.name,
        "expr": alert.condition,
        **({"for": f"{alert.minutes}m"} if alert.minutes else {}),
        "labels": {"severity": alert.severity},
        "annotations": {"summary": alert.summary, "action": alert.action},
    }


MESSAGE = (
    "{{ range .Alerts }}{{ .Status }}: {{ .Annotations.summary }}. {{ .Annotations.action }}\n"
    "{{ end }}"
)


def alert_manager_definition(environment: str, region: str, topic_arns: Mapping[str, str]) -> str:
    """Return the definition, for topics by severity; their values may be unresolved CDK tokens.

    In AWS's format, the configuration is a string within YAML. Source: Amazon Managed Service for
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
