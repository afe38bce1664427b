"""Recordings and alerts as a rules file of Prometheus: for the workspace, and for promtool."""

from __future__ import annotations

from typing import Any

import yaml

from slurmpod.metrics.alerts import ACCELERATOR_ALERTS, NODE_ALERTS, SLURM_ALERTS, Alert
from slurmpod.metrics.recordings import RECORDINGS, Recording

GROUPS = (
    ("slurm", SLURM_ALERTS),
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
