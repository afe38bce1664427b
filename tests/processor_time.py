"""The processor seconds of a run: those of the tests themselves, and of all processes they start.

A busy machine makes every wall-clock figure larger; processor seconds stay about the same, so that
two commits can be compared by them. Each process of pytest counts in a group of the cpuacct
controller, which includes every process that it starts, even booted nodes. Without that controller,
children that were waited for are counted, and the table says so.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

KINDS = {
    "tests/nodes/": "booted clusters",
    "tests/cloud/": "embedded AWS and command lines",
    "tests/programs/": "programs of this machine",
    "tests/templates/": "templates",
    "tests/pure/rules/": "rules",
    "tests/pure/jobs/": "jobs",
}
"""The main cost of a folder's tests; all others only compute."""

OTHERS = "everything else"
SHOWN_FILES = 15
_CPUACCT = Path("/sys/fs/cgroup/cpuacct")
_NANOSECONDS = 1e9
_PREFIX = "pytest-"


def kind(file: str) -> str:
    """Return the main cost of a file's tests, by its path in the checkout."""
    return next((kind for folder, kind in KINDS.items() if file.startswith(folder)), OTHERS)


class Meter:
    """Counts the processor seconds of this process and of everything that it starts."""

    def __init__(self, name: str) -> None:
        self._before = _own_group()
        self.group = _join(self._before, name)
        """None: only children that were waited for count, and nodes do not."""

    def seconds(self) -> float:
        """Return the seconds since the start; only differences mean anything."""
        if self.group is not None:
            return int((self.group / "cpuacct.usage").read_text()) / _NANOSECONDS
        return sum(os.times()[:4])

    def close(self) -> None:
        """Leave the group and remove it, unless other processes are in it."""
        if self.group is None or self._before is None:
            return
        with contextlib.suppress(OSError):
            (self._before / "cgroup.procs").write_text("0")
        _remove(self.group)


class ProcessorTime:
    """Adds the cost of each test phase to its report, and sums them up at the end."""

    def __init__(self, config: pytest.Config) -> None:
        worker = getattr(config, "workerinput", None)
        self._meter = Meter(worker["workerid"] if worker else f"{_PREFIX}{os.getpid()}")
        self._began = self._mark = self._meter.seconds()
        self._by_file: dict[str, float] = {}

    def pytest_collection_finish(self) -> None:
        """Exclude the start and the collection from the first test."""
        self._mark = self._meter.seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Record the cost since the last report of this process."""
        report = yield
        now = self._meter.seconds()
        report.processor_seconds = now - self._mark  # type: ignore[attr-defined]
        self._mark = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Sum up by file, in the process that prints."""
        file = report.nodeid.partition("::")[0]
        used = getattr(report, "processor_seconds", 0.0)
        self._by_file[file] = self._by_file.get(file, 0.0) + used

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the table."""
        whole = self._meter.seconds() - self._began
        terminalreporter.section("processor seconds")
        if not self._meter.group:
            terminalreporter.write_line("nodes are not counted: no cpuacct controller is writable")
        for line in lines(self._by_file, whole):
            terminalreporter.write_line(line)

    def pytest_unconfigure(self) -> None:
        """Leave nothing behind."""
        self._meter.close()


def lines(by_file: Mapping[str, float], whole: float) -> list[str]:
    """Return the table: kinds, the rest of the `whole`, and the most expensive files."""
    by_kind: dict[str, float] = {"start and collection": whole - sum(by_file.values())}
    for file, seconds in by_file.items():
        by_kind[kind(file)] = by_kind.get(kind(file), 0.0) + seconds
    kinds = _rows(by_kind)
    return [f"{whole:8.1f}  in all", *kinds, "", *_rows(by_file)[:SHOWN_FILES]]


def _rows(seconds: Mapping[str, float]) -> list[str]:
    most_first = sorted(seconds.items(), key=lambda item: -item[1])
    return [f"{each:8.1f}  {name}" for name, each in most_first]


def _own_group() -> Path | None:
    """Return the directory of this process's group of the cpuacct controller, if it has one."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpuacct" in controllers.split(","):
            return _CPUACCT / path.lstrip("/")
    return None


def _join(parent: Path | None, name: str) -> Path | None:
    """Create a group below `parent` and put this process into it; None if that fails."""
    if parent is None:
        return None
    for dead in parent.glob(f"{_PREFIX}*"):
        _remove(dead)
    group = parent / name
    try:
        group.mkdir(exist_ok=True)
        (group / "cgroup.procs").write_text("0")
    except OSError:
        return None
    return group


def _remove(group: Path) -> None:
    """Remove a group and its subgroups, unless processes are in them: a killed run cannot."""
    for each in (*sorted(group.rglob("*/"), reverse=True), group):
        with contextlib.suppress(OSError):
            each.rmdir()
