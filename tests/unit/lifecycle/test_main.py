from __future__ import annotations

import json
import logging
import re
from typing import TYPE_CHECKING, Any

import pytest
import slurmpod_lifecycle.__main__ as program
from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.report import report_json, summary
from slurmpod_lifecycle.runner import Result, State
from slurmpod_lifecycle.settings import Role

from tests.unit.lifecycle.fakes import node

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DONE = Result("mount_fsx", State.DONE, required=True, seconds=1.5, attempts=2, detail="mounted")
FAILED = Result("slurmd", State.FAILED, required=True, detail="it ended", fix="mend it")
EXTRA = Result("extra", State.FAILED, required=False, detail="it ended", fix="mend it")


class TestSummary:
    def test_of_a_success_names_the_node(self) -> None:
        assert summary([DONE], node(Role.WORKER)) == "OK: worker ip-10-0-128-20 is set up"

    def test_of_a_failure_names_step_reason_and_fix(self) -> None:
        expected = "FAILED: slurmd: it ended; fix: mend it"
        assert summary([DONE, EXTRA, FAILED], node(Role.WORKER)) == expected
        assert summary([FAILED], None) == expected

    def test_names_the_optional_steps_that_failed(self) -> None:
        assert summary([DONE, EXTRA], node(Role.LOGIN)) == (
            "OK: login ip-10-0-128-11 is set up, without the optional extra"
        )


class TestReport:
    def test_says_who_the_node_is_and_how_each_step_went(self) -> None:
        report = json.loads(report_json([DONE, FAILED], node(Role.WORKER), "2026-01-01T00:00:00Z"))
        assert report["started_at"] == "2026-01-01T00:00:00Z"
        assert not report["succeeded"]
        assert report["node"] == {
            "name": "ip-10-0-128-20",
            "address": "10.0.128.20",
            "instance_id": "i-0",
            "group": "hands",
            "role": "worker",
            "cluster": "dev",
        }
        assert report["steps"][0] == {
            "step": "mount_fsx",
            "state": "done",
            "required": True,
            "seconds": 1.5,
            "attempts": 2,
            "detail": "mounted",
            "fix": "",
        }

    def test_of_an_unknown_node_has_none(self) -> None:
        assert json.loads(report_json([FAILED], None, ""))["node"] is None


class TestProgram:
    @pytest.fixture(autouse=True)
    def _logging_as_it_was(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        handlers = logging.root.handlers[:]
        logging.root.handlers = []
        yield
        logging.disable(logging.NOTSET)
        logging.root.handlers = handlers

    def run(self, tmp_path: Path) -> tuple[int, dict[str, Any]]:
        path = tmp_path / "report.json"
        status = program.main(str(path))
        return status, json.loads(path.read_text())

    def test_without_settings_it_fails_and_says_so_last(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(program, "SETTINGS", tmp_path / "settings.json")
        status, report = self.run(tmp_path)
        last_line = capsys.readouterr().out.splitlines()[-1]
        assert status == 1
        assert re.match(r"FAILED: settings: cannot read .*; fix: deploy", last_line)
        assert report["summary"] == last_line

    def test_a_node_that_cannot_be_identified_fails_and_says_so_last(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(program, "SETTINGS", tmp_path / "settings.json")
        monkeypatch.setattr(Machine, "run", lambda *_, **__: json.dumps(INTERFACES))
        monkeypatch.setenv("SAGEMAKER_RESOURCE_CONFIG_PATH", str(tmp_path / "resources.json"))
        (tmp_path / "settings.json").write_text(json.dumps(SETTINGS))
        (tmp_path / "resources.json").write_text(json.dumps(RESOURCES))
        status, report = self.run(tmp_path)
        assert status == 1
        assert [step["step"] for step in report["steps"]] == ["identify"]
        last_line = capsys.readouterr().out.splitlines()[-1]
        assert last_line.startswith("FAILED: identify: the instance group 'unknown' is not in")


SETTINGS = {
    "cluster_name": "dev",
    "region": "us-west-2",
    "roles": {"head": "controller"},
    "file_system": {"dns_name": "d", "mount_name": "m", "mount_path": "/fsx"},
    "accounting": False,
    "step_timeout_seconds": 600,
}
RESOURCES = {
    "InstanceGroups": [{"Name": "unknown", "Instances": [{"CustomerIpAddress": "10.0.0.1"}]}]
}
INTERFACES = [{"addr_info": [{"local": "10.0.0.1", "scope": "global"}]}]
