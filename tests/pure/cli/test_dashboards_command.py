"""`slurmpod dashboards` as a user runs it, without an account."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from slurmpod.cli.main import run
from slurmpod.metrics.dashboards import DASHBOARDS
from slurmpod.problems import ExitCode
from tests.sound_environment import SOUND

MONITORING = """\
monitoring:
  notify: {critical: {emails: [a@example.com]}, warning: {emails: [a@example.com]}}
  prometheus: {}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "dev.yaml"
    path.write_text(SOUND + MONITORING)
    return path


def test_lists_them(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dashboards", str(file)]) == ExitCode.OK
    printed = capsys.readouterr()
    assert all(dashboard.uid in printed.out for dashboard in DASHBOARDS)
    assert printed.err == f"next: slurmpod dashboards --output dashboards {file}\n"


def test_tells_programs(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dashboards", str(file), "--json"]) == ExitCode.OK
    listed = json.loads(capsys.readouterr().out)
    assert [each["uid"] for each in listed] == [dashboard.uid for dashboard in DASHBOARDS]
    assert all(each["panels"] for each in listed)


def test_writes_files_for_grafana_and_promtool(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    assert run(["dashboards", str(file), "--output", str(folder)]) == ExitCode.OK
    pages = {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}
    assert pages.keys() == {dashboard.uid for dashboard in DASHBOARDS}
    assert all(page["title"].startswith("dev: ") for page in pages.values())
    assert yaml.safe_load((folder / "rules.yml").read_text())["groups"]


def test_where_there_is_no_grafana_nothing_is_pushed(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["dashboards", str(file), "--push"]) == ExitCode.USAGE
    assert "monitoring.grafana" in capsys.readouterr().err


def test_a_mistake_in_the_file_is_told_first(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(file.read_text().replace("prometheus: {}", "prometheus: {scrape_seconds: 300}"))
    assert run(["dashboards", str(file)]) == ExitCode.INVALID
    assert "scrape_seconds" in capsys.readouterr().err
