"""Reports of nodes: which are read, which count, and how they are shown on one page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from slurmpod.aws.cluster import ClusterView, Node
from slurmpod.aws.cluster_logs import ClusterLogs
from slurmpod.cli.lifecycle import print_reports
from slurmpod.operations.lifecycle import NodeReport, lifecycle_reports, read_report
from tests.pure.operations.nodes import live

WRITTEN = datetime(2026, 1, 1, 0, 0, 9, tzinfo=UTC)
ROLES = {"head": "controller", "cpu": "worker", "gpu": "worker"}


class Nodes(ClusterView):
    def __init__(self, *nodes: Node) -> None:
        self._nodes = nodes

    def cluster_id(self, cluster: str) -> str:
        return {"lab": "abcde01234yz"}[cluster]

    def nodes(self, cluster: str, **_: str) -> tuple[Node, ...]:
        assert cluster == "lab"
        return self._nodes


class Logs(ClusterLogs):
    def __init__(self, lines: Mapping[str, str]) -> None:
        self._lines = lines

    def last_lines(
        self, cluster: str, cluster_id: str, word: str
    ) -> Mapping[str, tuple[datetime, str]]:
        assert (cluster, cluster_id) == ("lab", "abcde01234yz")
        return {key: (WRITTEN, line) for key, line in self._lines.items() if word in line}


def line(name: str, *, failure: str = "", seconds: float = 2.0) -> str:
    steps: list[dict[str, Any]] = [
        step("identify", "done", 0.1),
        step("mount_fsx", "failed" if failure else "done", seconds, failure),
        step("slurmd", "not run" if failure else "done", 0.0 if failure else 1.0),
    ]
    report = {
        "node": {"name": name},
        "image": {"slurm": "25.11"},
        "succeeded": not failure,
        "summary": failure or "OK",
        "slowest_path": ["identify", "mount_fsx", "slurmd"],
        "steps": steps,
    }
    return f"2026-01-01T00:00:00Z slurmpod-report {json.dumps(report)}"


def step(name: str, state: str, seconds: float, detail: str = "") -> dict[str, Any]:
    return {
        "step": name,
        "state": state,
        "required": True,
        "seconds": seconds,
        "detail": detail,
        "fix": "mend it",
    }


def reports_of(count: int, **failures: str) -> tuple[NodeReport, ...]:
    """Return the reports of so many nodes; those of `failures` have failed."""
    names = [f"ip-{number}" for number in range(count)]
    lines = {f"cpu/{name}": line(name, failure=failures.get(name[3:], "")) for name in names}
    nodes = Nodes(*(live("cpu", name, status="Running") for name in names))
    return lifecycle_reports(nodes, Logs(lines), "lab")


class TestReading:
    def test_the_last_whole_report_counts(self) -> None:
        output = f"{line('old')}\nnoise\n{line('new')}\nslurmpod-report {{half\nOK: done\n"
        assert read_report("cpu", "i-1", "Running", output).name == "new"

    def test_without_one_the_node_has_no_steps(self) -> None:
        report = read_report("cpu", "i-1", "Pending", "what else is printed")
        assert (report.steps, report.name, report.succeeded) == ((), "i-1", False)

    def test_it_took_as_long_as_its_slowest_path(self) -> None:
        assert read_report("cpu", "i-1", "Running", line("a")).seconds == pytest.approx(3.1)

    def test_what_failed_comes_first_and_what_is_silent_next(self) -> None:
        lines = {"cpu/i-1": line("good"), "cpu/i-3": line("bad", failure="no")}
        names = {"i-1": "good", "i-2": "silent", "i-3": "bad"}
        nodes = Nodes(*(live("cpu", id_, name) for id_, name in names.items()))
        found = lifecycle_reports(nodes, Logs(lines), "lab")
        assert [report.name for report in found] == ["bad", "silent", "good"]

    def test_nodes_that_are_no_more_count_where_there_are_no_others(self) -> None:
        lines = {"cpu/i-1": line("old"), "gpu/i-2": line("new")}
        some = lifecycle_reports(Nodes(live("gpu", "i-2", "new")), Logs(lines), "lab")
        assert [report.name for report in some] == ["new"]
        none = lifecycle_reports(Nodes(), Logs(lines), "lab")
        assert [(each.group, each.instance_id, each.status) for each in none] == [
            ("cpu", "i-1", "gone"),
            ("gpu", "i-2", "gone"),
        ]


class TestPage:
    def page(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *args: Any
    ) -> list[str]:
        monkeypatch.setenv("COLUMNS", "80")
        print_reports(*args)
        return capsys.readouterr().out.splitlines()

    def test_of_few_nodes_shows_each(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        page = self.page(monkeypatch, capsys, reports_of(2), ROLES)
        assert page[0].split() == ["STEP", "ip-0", "ip-1"]
        assert page[2].split() == ["mount_fsx", "2.0", "2.0"]
        assert page[4].split() == ["all", "3.1", "3.1"]
        assert page[5] == "slowest: ip-0 (cpu) in 3.1 s: identify 0.1 > mount_fsx 2.0 > slurmd 1.0"

    def test_of_many_nodes_shows_those_together_that_are_alike(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        failures = {"3": "no such file system", "65": "no such file system"}
        page = self.page(monkeypatch, capsys, reports_of(66, **failures), ROLES)
        assert page[:2] == [
            "FAILED mount_fsx on ip-3 (cpu), ip-65 (cpu): no such file system",
            "  fix: mend it",
        ]
        assert page[2].split() == ["STEP", "cpu", "x66"]
        assert page[4].split() == ["mount_fsx", "failed", "2/66", "2.0"]
        assert page[5].split() == ["slurmd", "1.0"]
        assert len(page) == 8
        assert max(map(len, page)) <= 80

    def test_of_a_dry_run_says_what_would_be_done_and_no_times(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        output = line("ip-0", seconds=0.0).replace("0.1", "0.0").replace("1.0", "0.0")
        would = output.replace('"done", "required"', '"would run", "required"')
        would = would.replace('"detail": ""', '"detail": "would first write /etc/fstab"')
        report = read_report("cpu", "i-0", "Running", would.replace("mend it", ""))
        page = self.page(monkeypatch, capsys, [report], ROLES)
        assert page[1] == "would run mount_fsx on ip-0 (cpu): would first write /etc/fstab"
        assert len(page) == 3

    def test_names_nodes_without_a_report(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        nodes = Nodes(*(live("gpu", f"i-{n}", status="Pending") for n in range(5)))
        page = self.page(monkeypatch, capsys, lifecycle_reports(nodes, Logs({}), "lab"), ROLES)
        assert page == ["no report from i-0 (gpu), i-1 (gpu), i-2 (gpu) and 2 more"]
