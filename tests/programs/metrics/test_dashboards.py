"""Dashboards: Grafana's form, and queries for series that there are."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from slurmpod.metrics.dashboards import DASHBOARDS
from slurmpod.metrics.grafana import dashboard_json
from slurmpod.metrics.panel import Subject
from slurmpod.metrics.prometheus import GROUPS, RECORDINGS, rules_yaml
from tests.programs.metrics.collected_samples import collected_samples

OF_NODE = {"cluster": "dev", "group": "p5", "node": "ip-10-0-0-9", "role": "worker"}
"""What the agent of a node adds to all series."""

FOR_QUESTIONS = {
    "slurmpod_collector_seconds",
    "DCGM_FI_PROF_PCIE_TX_BYTES",
    "DCGM_FI_PROF_PCIE_RX_BYTES",
    "DCGM_FI_PROF_NVLINK_TX_BYTES",
    "DCGM_FI_PROF_NVLINK_RX_BYTES",
}
"""What nobody looks at all the time, but who wonders why a collector or a job is slow."""

SAMPLES_SUBJECTS = (Subject.GPU, Subject.NEURON, Subject.EFA, Subject.LUSTRE)
NAME = re.compile(r"\b((?:node|slurmpod|DCGM)_[A-Za-z0-9_]+|[a-z_]+:[a-z_]+:[a-z_]+)\b")


def queries(*subjects: Subject) -> Iterator[str]:
    for dashboard in DASHBOARDS:
        for panel in dashboard.panels:
            if not subjects or panel.subject in subjects:
                yield from panel.queries.values()


def plain(query: str) -> str:
    """Return the expression as it is asked when the reader chose all nodes."""
    return query.replace("$__rate_interval", "10m").replace("$node", ".*")


def names_in(expression: str) -> set[str]:
    return set(NAME.findall(re.sub(r'"[^"]*"', "", expression)))


def test_the_same_dashboard_is_the_same_text() -> None:
    assert len({dashboard.uid for dashboard in DASHBOARDS}) == len(DASHBOARDS)
    for dashboard in DASHBOARDS:
        assert dashboard_json(dashboard, "dev") == dashboard_json(dashboard, "dev")


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda dashboard: dashboard.uid)
def test_every_panel_has_its_place_and_its_queries(dashboard: object) -> None:
    page = json.loads(dashboard_json(dashboard, "dev"))  # type: ignore[arg-type]
    assert page["uid"].startswith("slurmpod-")
    places = [tuple(panel["gridPos"][side] for side in "xywh") for panel in page["panels"]]
    assert len({place[:2] for place in places}) == len(places)
    assert all(x + width <= 24 for x, _, width, _ in places)
    for panel in page["panels"]:
        assert panel["targets"]
        assert {target["refId"] for target in panel["targets"]} <= {"A", "B", "C", "D"}
        assert panel["datasource"]["uid"] == "slurmpod-prometheus"


def test_prometheus_understands_every_query(promtool: Sequence[str], tmp_path: Path) -> None:
    rules = [{"record": f"query:{n}", "expr": plain(q)} for n, q in enumerate(queries())]
    file = tmp_path / "queries.yml"
    file.write_text(json.dumps({"groups": [{"name": "queries", "rules": rules}]}))
    checked = run(promtool, "check", "rules", str(file))
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_series_is_one_that_nodes_send_or_that_is_recorded() -> None:
    from slurmpod_exporter.exposition import FAMILIES
    from slurmpod_lifecycle.steps.metrics import KEPT

    recorded = {recording.name for recording in RECORDINGS}
    alerts = [alert.condition for _, group in GROUPS for alert in group]
    expressions = [*map(plain, queries()), *alerts, *(each.expression for each in RECORDINGS)]
    for name in set().union(*map(names_in, expressions)):
        is_sent = name in FAMILIES or (name.startswith("node_") and re.fullmatch(KEPT, name))
        assert is_sent or name in recorded, name


def test_all_that_is_collected_is_sent() -> None:
    from slurmpod_exporter.exposition import FAMILIES
    from slurmpod_lifecycle.steps.metrics import KEPT

    assert [name for name in FAMILIES if not re.fullmatch(KEPT, name)] == []


def test_no_label_is_one_that_prometheus_gives_itself() -> None:
    """It would keep its own, and call ours `exported_job` (Prometheus, "scrape_config")."""
    assert not {"job", "instance"} & {name for each in collected_samples() for name in each.labels}


def test_nothing_is_sent_that_nobody_looks_at() -> None:
    from slurmpod_exporter.exposition import FAMILIES

    alerts = [alert.condition for _, group in GROUPS for alert in group]
    expressions = [*map(plain, queries()), *alerts, *(each.expression for each in RECORDINGS)]
    unused = FAMILIES.keys() - set().union(*map(names_in, expressions))
    assert unused == FOR_QUESTIONS


@pytest.mark.parametrize("subject", SAMPLES_SUBJECTS, ids=lambda subject: str(subject.value))
def test_panels_of_hardware_show_what_collectors_print(
    subject: Subject, promtool: Sequence[str], tmp_path: Path
) -> None:
    (tmp_path / "rules.yml").write_text(rules_yaml())
    expected = [{"labels": "{}", "value": 1}]
    tests = [
        {
            "expr": f"clamp_max(count({plain(query)}), 1)",
            "eval_time": "80m",
            "exp_samples": expected,
        }
        for query in queries(subject)
    ]
    test = {
        "rule_files": ["rules.yml"],
        "tests": [
            {"interval": "1m", "input_series": list(series()), "promql_expr_test": tests},
        ],
    }
    (tmp_path / "test.yml").write_text(json.dumps(test))
    tested = run(promtool, "test", "rules", str(tmp_path / "test.yml"))
    assert tests
    assert tested.returncode == 0, tested.stdout + tested.stderr


def series() -> Iterator[Mapping[str, str]]:
    for sample in collected_samples():
        labels = {**OF_NODE, **sample.labels}
        text = ",".join(f'{name}="{value}"' for name, value in labels.items())
        yield {"series": f"{sample.name}{{{text}}}", "values": f"{sample.value}x90"}


def run(promtool: Sequence[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*promtool, *arguments], capture_output=True, text=True, check=False)
