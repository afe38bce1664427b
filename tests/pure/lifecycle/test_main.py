from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import slurmpod_lifecycle.__main__ as program
from slurmpod_lifecycle.dataclass_json import to_json
from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.platform_facts import IMAGE_FACTS
from slurmpod_lifecycle.report import (
    MARK,
    make_report,
    report_line,
    slowest_path,
    summary,
)
from slurmpod_lifecycle.report_copy import copy_report
from slurmpod_lifecycle.runner import Result, State
from slurmpod_lifecycle.settings import Role
from tests.pure.lifecycle.fakes import LUSTRE, NODE_OPTIONS, OPENZFS, machine_of, node

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
        report = make_report([DONE, FAILED], node(Role.WORKER), "2026-01-01T00:00:00Z")
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
            "needs": (),
        }

    def test_of_an_unknown_node_has_none(self) -> None:
        report = make_report([FAILED], None, "")
        assert report["node"] is None
        assert report["image"] is None

    @pytest.mark.parametrize(("noted", "shown"), [('{"ami": 1}', {"ami": 1}), ('{"am', None)])
    def test_shows_what_is_known_of_the_image(self, noted: str, shown: object) -> None:
        worker = node(Role.WORKER)
        machine_of(worker).files[IMAGE_FACTS] = noted
        assert make_report([DONE], worker, "")["image"] == shown

    def test_is_one_line_of_the_log_that_can_be_found(self) -> None:
        line = report_line(make_report([DONE], node(Role.WORKER), ""))
        mark, _, text = line.partition(" ")
        assert mark == MARK
        assert "\n" not in line
        assert json.loads(text)["succeeded"]


class TestSlowestPath:
    def test_is_the_chain_of_steps_that_took_longest(self) -> None:
        results = [
            done("identify", 1),
            done("quick", 2),
            done("slow", 5),
            done("after_quick", 2, "quick"),
            done("last", 1, "slow", "after_quick", "elsewhere"),
        ]
        assert slowest_path(results) == ["identify", "slow", "last"]

    def test_of_a_node_that_did_nothing_else(self) -> None:
        assert slowest_path([done("identify", 1)]) == ["identify"]
        assert slowest_path([]) == []


def done(name: str, seconds: float, *needs: str) -> Result:
    return Result(name, State.DONE, required=True, seconds=seconds, needs=needs)


class TestCopy:
    def test_goes_to_the_first_shared_file_system_that_is_mounted(self) -> None:
        worker = node(Role.WORKER, file_systems=(OPENZFS, LUSTRE))
        copy_report(worker, "text")
        path = "/fsx/.slurmpod/reports/ip-10-0-128-20.json"
        assert machine_of(worker).files[path] == "text"

    def test_a_file_system_that_refuses_is_no_failure(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def refuse(*_: object, **__: object) -> bool:
            raise OSError(30, "Read-only file system")

        worker = node(Role.WORKER)
        monkeypatch.setattr(machine_of(worker), "write", refuse)
        with caplog.at_level(logging.INFO):
            copy_report(worker, "text")
        assert "Read-only file system" in caplog.text

    def test_a_file_system_that_hangs_is_left_alone(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        back = threading.Event()
        worker = node(Role.WORKER)
        monkeypatch.setattr(machine_of(worker), "write", lambda *_, **__: back.wait())
        copy_report(worker, "text", patience_seconds=0.01)
        back.set()
        assert "did not answer in time" in caplog.text


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

    def test_the_report_comes_just_before_the_last_line(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(program, "SETTINGS", tmp_path / "settings.json")
        _, report = self.run(tmp_path)
        line = capsys.readouterr().out.splitlines()[-2]
        assert json.loads(line.removeprefix(f"{MARK} ")) == report

    def test_a_dry_run_leaves_no_report(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(program, "SETTINGS", tmp_path / "settings.json")
        assert program.dry_run() == 1
        assert capsys.readouterr().out.splitlines()[-1].startswith("FAILED: settings")
        assert not list(tmp_path.iterdir())


SETTINGS = {
    "cluster_name": "dev",
    "region": "us-west-2",
    "mode": "customer",
    "roles": {"head": "controller"},
    "file_systems": [],
    "s3_mounts": [],
    "accounting": False,
    "database": None,
    "records_backup": None,
    "checks": None,
    "multi_head": None,
    "metrics": None,
    "access": {
        "groups": [],
        "users": [],
        "home_directory": "/home",
        "homes_shared": False,
        "directory": None,
    },
    "slurm": {"configuration": {}, "partitions": {}, "qos": {}, "accounts": []},
    "node": to_json(NODE_OPTIONS),
    "step_timeout_seconds": 600,
}
RESOURCES = {
    "InstanceGroups": [{"Name": "unknown", "Instances": [{"CustomerIpAddress": "10.0.0.1"}]}]
}
INTERFACES = [{"addr_info": [{"local": "10.0.0.1", "scope": "global"}]}]
