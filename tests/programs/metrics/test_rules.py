"""Recordings and alerts, judged by the real promtool: they fire when they should, only then."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from slurmpod.metrics.alerts import SEVERITIES
from slurmpod.metrics.prometheus import GROUPS, alert_manager_definition, rules_yaml
from tests.programs.metrics.alert_cases import CASES, HELD, USE, Case

ALERTS = {alert.name: alert for _, alerts in GROUPS for alert in alerts}
TOPICS: dict[str, str] = {each: f"arn:aws:sns:us-west-2:123456789012:{each}" for each in SEVERITIES}


@pytest.fixture(scope="session")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rules") / "rules.yml"
    path.write_text(rules_yaml())
    return path


def test_the_file_is_one_that_prometheus_takes(promtool: Sequence[str], rules: Path) -> None:
    checked = run(promtool, "check", "rules", "--lint=all", "--lint-fatal", str(rules))
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.alert}: {case.what}")
def test_an_alert(case: Case, promtool: Sequence[str], rules: Path, tmp_path: Path) -> None:
    alert = ALERTS[case.alert]
    expected = [
        {
            "exp_labels": {**labels, "severity": alert.severity},
            "exp_annotations": {
                "summary": filled(alert.summary, labels),
                "action": filled(alert.action, labels),
            },
        }
        for labels in case.fires_for
    ]
    test = {
        "rule_files": [str(rules)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": s, "values": v} for s, v in case.series.items()],
                "alert_rule_test": [
                    {
                        "alertname": case.alert,
                        "eval_time": f"{case.at_minute}m",
                        "exp_alerts": expected,
                    }
                ],
            }
        ],
    }
    file = tmp_path / "test.yml"
    file.write_text(json.dumps(test))
    tested = run(promtool, "test", "rules", str(file))
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_a_gpu_that_worked_within_the_hour_is_not_idle(
    promtool: Sequence[str], rules: Path, tmp_path: Path
) -> None:
    of_job = '{slurm_job="12", user="alice"}'
    expected = [
        ("job:gpus_idle:count", "50m", []),
        ("job:gpus_idle:count", "80m", [{"labels": f"job:gpus_idle:count{of_job}", "value": 1}]),
        ("job:gpus_idle:count", "120m", []),
        (
            "job:gpu_utilization:avg",
            "91m",
            [{"labels": f"job:gpu_utilization:avg{of_job}", "value": 0.3}],
        ),
    ]
    series = {HELD % 0: "1x140", USE % 0: "0x90 0.3 0x50"}
    test = {
        "rule_files": [str(rules)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": s, "values": v} for s, v in series.items()],
                "promql_expr_test": [
                    {"expr": expression, "eval_time": at, "exp_samples": samples}
                    for expression, at, samples in expected
                ],
            }
        ],
    }
    file = tmp_path / "test.yml"
    file.write_text(json.dumps(test))
    tested = run(promtool, "test", "rules", str(file))
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_every_alert_is_shown_to_fire_and_not_to_fire() -> None:
    assert {case.alert for case in CASES if case.fires_for} == set(ALERTS)
    assert {case.alert for case in CASES if not case.fires_for} == set(ALERTS)


def test_alerts_say_what_to_do_and_name_labels_that_they_have() -> None:
    for alert in ALERTS.values():
        assert alert.action.endswith((".", "Action:Replace"))
        for label in re.findall(r"\$labels\.(\w+)", alert.summary + alert.action):
            assert label in alert.condition, (alert.name, label)


class TestAlertManager:
    def definition(self) -> Any:
        text = alert_manager_definition("dev", "us-west-2", TOPICS)
        return yaml.safe_load(yaml.safe_load(text)["alertmanager_config"])

    def test_each_severity_goes_to_its_topic(self) -> None:
        definition = self.definition()
        receivers = {each["name"]: each["sns_configs"] for each in definition["receivers"]}
        for route in definition["route"]["routes"]:
            (matcher,) = route["matchers"]
            severity = matcher.split('"')[1]
            assert receivers[route["receiver"]][0]["topic_arn"] == TOPICS[severity]

    def test_severities_of_alerts_are_those_with_topics(self) -> None:
        assert {alert.severity for alert in ALERTS.values()} == set(SEVERITIES)


def filled(template: str, labels: Mapping[str, str]) -> str:
    for name, value in labels.items():
        template = template.replace(f"{{{{ $labels.{name} }}}}", value)
    return template


def run(promtool: Sequence[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*promtool, *arguments], capture_output=True, text=True, check=False)
