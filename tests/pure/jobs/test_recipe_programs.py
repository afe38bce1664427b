"""What programs of recipes compute, without a cluster and without PyTorch."""

from __future__ import annotations

import fcntl
import json
import os
import runpy
import subprocess
import sys
from argparse import Namespace
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from slurmpod.jobs.recipes.registry import RECIPES
from slurmpod_health.expectations import Expectations
from slurmpod_health.finding import Finding, Verdict
from tests.golden_files import ROOT

PROGRAMS = ROOT / "templates" / "jobs"
GOOD = {"verdict": "good", "detail": "all is well"}


def program(name: str) -> dict[str, Any]:
    return runpy.run_path(str(PROGRAMS / name))


class TestComparedNodes:
    def compare(self, folder: Path, **found: dict[str, dict[str, str]] | None) -> tuple[int, str]:
        for node, checks in found.items():
            if checks is not None:
                (folder / f"{node}.json").write_text(json.dumps(checks))
        command = [sys.executable, str(PROGRAMS / "check-nodes" / "compare_nodes.py")]
        command += ["--results", str(folder), "--nodes", ",".join(found)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.stderr == ""
        return done.returncode, done.stdout

    def test_nodes_that_are_alike(self, tmp_path: Path) -> None:
        told = {"verdict": "reported", "detail": "not synchronised"}
        status, output = self.compare(
            tmp_path, a1={"efa": GOOD, "clock": told}, a2={"efa": GOOD, "clock": told}
        )
        assert status == 0
        assert output == (
            "node  efa   clock\n"
            "a1    good  reported\n"
            "a2    good  reported\n"
            "reported by a1, a2: clock: not synchronised\n"
            "no node deviates\n"
        )

    def test_a_bad_node_is_named(self, tmp_path: Path) -> None:
        bad = {"verdict": "bad", "detail": "7 of 8 accelerators"}
        status, output = self.compare(tmp_path, a1={"gpu": GOOD}, a2={"gpu": bad})
        assert status == 1
        assert output.endswith("a2 deviates: gpu: 7 of 8 accelerators\n1 of 2 nodes deviate\n")
        data = json.loads((tmp_path / "nodes.json").read_text())
        assert data["a2"]["deviations"] == ["gpu: 7 of 8 accelerators"]
        assert data["a1"]["deviations"] == []

    def test_a_node_that_says_nothing_is_named(self, tmp_path: Path) -> None:
        status, output = self.compare(tmp_path, a1={"gpu": GOOD}, a2=None)
        assert status == 1
        assert "a2    -\n" in output
        assert "a2 deviates: it has not said anything" in output

    def test_a_node_that_is_unlike_most_is_named(self, tmp_path: Path) -> None:
        none = {"verdict": "reported", "detail": "0 of 32 EFA interfaces"}
        status, output = self.compare(
            tmp_path, a1={"efa": GOOD}, a2={"efa": none}, a3={"efa": GOOD}
        )
        assert status == 1
        assert "a2 deviates: efa: 0 of 32 EFA interfaces (on most nodes it is good)" in output


class TestCheckedNode:
    judged = staticmethod(program("check-nodes/check_node.py")["judged"])

    @pytest.mark.parametrize(
        ("accelerators", "check", "verdict"),
        [(8, "efa", Verdict.BAD), (0, "efa", Verdict.REPORTED), (8, "clock", Verdict.REPORTED)],
    )
    def test_accelerators_without_any_efa_are_bad(
        self, accelerators: int, check: str, verdict: Verdict
    ) -> None:
        expected = Expectations("a1", "gpu", accelerators, 32, None, (), 0)
        found = self.judged(Finding(check, Verdict.REPORTED, "0 of 32 EFA interfaces"), expected)
        assert found.verdict is verdict


class TestBounds:
    bounds = program("collectives-bench/bounds.py")

    @pytest.mark.parametrize(
        ("gigabits", "nodes", "expected"),
        [(400, 2, 93.75), (400, 4, 64.58), (400, 8, 56.25), (3200, 2, 750), (3200, 4, 516.67)],
    )
    def test_of_published_instance_types(self, gigabits: int, nodes: int, expected: float) -> None:
        """p4d and p5; 77 GB/s were measured on two p4d (skypilot-org/skypilot, pull 8966)."""
        found = self.bounds["bound"]("all-reduce", gigabits, nodes, 8)
        assert found == pytest.approx(expected, abs=0.01)

    def test_within_a_node_the_network_bounds_nothing(self) -> None:
        assert self.bounds["bound"]("all-reduce", 3200, 1, 8) is None

    def test_processes_of_a_node_share_it_in_an_all_to_all(self) -> None:
        bound = self.bounds["bound"]
        assert bound("all-to-all", 400, 2, 8) == bound("all-gather", 400, 2, 8) / 8

    def test_bus_bandwidth_counts_what_a_ring_sends(self) -> None:
        bus = self.bounds["bus_bandwidth"]
        assert bus("all-reduce", 1e9, 1, 4) == pytest.approx(1.5)
        assert bus("all-gather", 1e9, 1, 4) == pytest.approx(0.75)

    @pytest.mark.parametrize(
        ("log", "fault"),
        [
            ("NCCL INFO NET/OFI Selected provider is efa, fabric is efa", ""),
            ("NCCL INFO Using network AWS Libfabric", ""),
            ("NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0", "over TCP"),
            ("NCCL INFO Using network Socket", "over TCP"),
            ("NCCL INFO Bootstrap : Using eth0", "does not say that it uses EFA"),
        ],
    )
    def test_what_nccl_says_of_the_network(self, log: str, fault: str) -> None:
        found = self.bounds["network_fault"](log)
        assert bool(found) == bool(fault)
        assert fault in found


class TestLineChart:
    chart = program("shared/line_chart.py")

    def test_a_line_goes_through_its_points(self) -> None:
        lines = {"all-reduce": [(1024, 0.0), (1024**2, 10.0)], "a & b": [(1024, 5.0)]}
        picture = ElementTree.fromstring(self.chart["line_chart"]("A title", "GB/s", lines))  # noqa: S314  # our own
        first, second = picture.findall("{*}polyline")
        assert first.attrib["points"] == "70.0,370.0 550.0,40.0"
        assert second.attrib["points"] == "70.0,205.0"
        texts = [text.text for text in picture.findall("{*}text")]
        assert {"A title", "GB/s", "all-reduce", "a & b", "1 KiB", "1 MiB", "10"} <= set(texts)

    def test_what_measured_nothing_is_a_picture_too(self) -> None:
        assert ElementTree.fromstring(self.chart["line_chart"]("t", "u", {})) is not None  # noqa: S314  # our own


class TestIo:
    def measure(
        self, folder: Path, *nodes: str, needed: int = 0
    ) -> subprocess.CompletedProcess[str]:
        """Measure a folder with two nodes at once, and put together what `nodes` found."""
        options = ["--folders", str(folder), "--block-kib", "4", "64", "--mib-per-file", "1"]
        options += ["--files-per-node", "2", "--needed-mib-per-s", str(needed)]
        results = folder / "results"
        results.mkdir()
        bench = [sys.executable, str(PROGRAMS / "io-bench" / "bench_io.py")]
        checks = {"PYTHONPATH": str(ROOT / "lifecycle_scripts")}
        running = [
            subprocess.Popen(
                [*bench, "--results", str(results), *options],
                env={"SLURMD_NODENAME": node, "SLURM_NNODES": "2", "SLURM_JOB_ID": "7", **checks},
            )
            for node in ("a1", "a2")
        ]
        assert [process.wait() for process in running] == [0, 0]
        for name in ("io-bench/sum_io.py", "shared/line_chart.py"):
            (folder / Path(name).name).write_bytes((PROGRAMS / name).read_bytes())
        together = [sys.executable, str(folder / "sum_io.py"), "--nodes", ",".join(nodes)]
        return subprocess.run(
            [*together, "--results", str(results)], capture_output=True, text=True
        )

    def test_all_nodes_count_together(self, tmp_path: Path) -> None:
        done = self.measure(tmp_path, "a1", "a2")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.endswith("reading is as fast as needed (0 MiB/s)\n")
        data = json.loads((tmp_path / "results" / "io.json").read_text())
        kinds = [(row["kind"], row["block_bytes"]) for row in data["rows"]]
        assert kinds == [(kind, kib * 1024) for kib in (4, 64) for kind in ("write", "read")]
        for row in data["rows"]:
            assert row["bytes"] == 4 * 1024**2
            assert row["mib_per_s"] == pytest.approx(4 / row["seconds"])
        assert (tmp_path / "results" / "io.svg").read_text().count("<polyline ") == 2
        assert not list(tmp_path.glob(".io-bench*"))

    def test_nodes_meet_anew_for_each_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """By default all folders have the same name: that of the user."""
        bench = program("io-bench/bench_io.py")["main"]
        met: list[str] = []
        meet = lambda results, name, node: met.append(name)  # noqa: E731  # all that is needed
        monkeypatch.setitem(bench.__globals__, "meet", meet)
        monkeypatch.setenv("SLURMD_NODENAME", "a1")
        monkeypatch.setenv("SLURM_JOB_ID", "7")
        folders = [tmp_path / mount / "ubuntu" for mount in ("fsx", "home")]
        for folder in folders:
            folder.mkdir(parents=True)
        sizes = {"block_kib": [4], "mib_per_file": 1, "files_per_node": 1, "needed_mib_per_s": 0}
        bench(Namespace(results=tmp_path, folders=map(str, folders), **sizes))
        assert len(set(met)) == len(met) == 4

    def test_what_is_too_slow_and_who_is_silent(self, tmp_path: Path) -> None:
        (tmp_path / "slow").mkdir()
        (tmp_path / "silent").mkdir()
        slow = self.measure(tmp_path / "slow", "a1", "a2", needed=10**9)
        assert slow.returncode == 1
        assert f"{tmp_path}/slow is too slow: it is read with " in slow.stdout
        assert "needed are 1e+09" in slow.stdout
        silent = self.measure(tmp_path / "silent", "a1", "a3")
        assert (silent.returncode, silent.stdout.split(":")[0]) == (1, "not measured on a3")


class ArrayFolder:
    """A rendered array in a folder, whose tasks are run one by one."""

    def __init__(self, folder: Path, recipe: str, *options: str, tasks: int = 4) -> None:
        self.folder, self.tasks = folder, tasks
        for name, content in RECIPES[recipe].programs.items():
            (folder / name).write_bytes(content)
        program = folder / RECIPES[recipe].program
        self._command = [sys.executable, str(program), *options, "--tasks", str(tasks)]

    def run(self, *options: str, task: int = 0, **variables: str) -> tuple[int, str]:
        slurm = {"SLURM_ARRAY_TASK_ID": str(task), "SLURM_JOB_ID": "7"}
        done = subprocess.run(
            [*self._command, *options],
            cwd=self.folder,
            env={**os.environ, **slurm, **variables},
            capture_output=True,
            text=True,
        )
        assert done.stderr == "" or done.returncode
        return done.returncode, done.stdout + done.stderr

    def run_all(self) -> list[int]:
        return [self.run(task=task)[0] for task in range(self.tasks)]

    def done(self) -> list[list[str]]:
        files = (self.folder / "done" / f"{task}.txt" for task in range(self.tasks))
        return [file.read_text().splitlines() for file in files]


class TestShardedArray:
    @pytest.fixture
    def data(self, tmp_path: Path) -> Path:
        folder = tmp_path / "data"
        (folder / "more").mkdir(parents=True)
        for number in range(9):
            (folder / f"{number}.txt").touch()
        (folder / "more" / "a file.txt").touch()
        return folder

    @pytest.fixture
    def array(self, data: Path, tmp_path: Path) -> ArrayFolder:
        (tmp_path / "job").mkdir()
        return ArrayFolder(tmp_path / "job", "sharded-array", "--prefix", str(data))

    def test_each_file_belongs_to_one_task(self, array: ArrayFolder, data: Path) -> None:
        assert array.run_all() == [0, 0, 0, 0]
        shares = array.done()
        assert list(map(len, shares)) == [3, 3, 2, 2]
        files = sorted(str(path) for path in data.rglob("*") if path.is_file())
        assert sorted(chain(*shares)) == files
        assert array.run("--after") == (0, "10 of 10 are done\n")

    def test_what_failed_runs_again_alone(self, array: ArrayFolder, data: Path) -> None:
        work = array.folder / "work.py"
        sound = work.read_text()
        work.write_text(f"{sound}    assert '5.txt' not in key, 'not this one'\n")
        assert array.run_all() == [0, 1, 0, 0]
        status, told = array.run("--after", "--script", "/fsx/x.sbatch")
        assert status == 1
        assert "9 of 10 are done\nnot done: " in told
        assert told.endswith("run what is left with: sbatch --array=1 /fsx/x.sbatch\n")
        work.write_text(sound)
        (data / "late.txt").touch()  # the list stays as it is
        status, log = array.run(task=1)
        assert (status, log.splitlines()[0]) == (0, "task 1 of 4: 1 to do, of 10 in all")
        assert array.run("--after")[0] == 0
        assert len(set(array.done()[1])) == len(array.done()[1]) == 3

    @pytest.mark.parametrize("tasks", [1, 3, 7])
    def test_other_tasks_go_on_behind_what_was_done(
        self, tasks: int, array: ArrayFolder, data: Path
    ) -> None:
        assert [array.run(task=task)[0] for task in range(2)] == [0, 0]
        other = ArrayFolder(array.folder, "sharded-array", "--prefix", str(data), tasks=tasks)
        assert other.run("--after")[1].startswith("6 of 10 are done\n")
        assert other.run_all() == [0] * tasks
        assert other.run("--after") == (0, "10 of 10 are done\n")
        notes = [file.read_text().splitlines() for file in (array.folder / "done").iterdir()]
        assert len(list(chain(*notes))) == len(set(chain(*notes))) == 10

    def test_a_line_that_is_being_written_is_not_done(self, array: ArrayFolder, data: Path) -> None:
        (array.folder / "done").mkdir()
        (array.folder / "done" / "3.txt").write_text(str(data / "0.txt"))
        assert array.run()[1].startswith("task 0 of 4: 3 to do, of 10 in all\n")

    @pytest.mark.parametrize("options", [(), ("--after",)])
    def test_another_prefix_needs_another_folder(
        self, options: tuple[str, ...], array: ArrayFolder, data: Path
    ) -> None:
        assert array.run()[0] == 0
        other = ArrayFolder(array.folder, "sharded-array", "--prefix", str(data / "more"))
        told = f"keys.txt lists {data}, not {data}/more: begin in another folder\n"
        assert other.run(*options) == (1, told)
        assert array.run() == (0, "task 0 of 4: 0 to do, of 10 in all\n")

    def test_a_task_runs_once_at_a_time(self, array: ArrayFolder) -> None:
        (array.folder / "done").mkdir()
        with (array.folder / "done" / "2.txt").open("a") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            assert array.run(task=2) == (1, "task 2 runs already, in another job\n")

    def test_a_prefix_without_files(self, tmp_path: Path) -> None:
        array = ArrayFolder(tmp_path, "sharded-array", "--prefix", str(tmp_path / "nothing"))
        assert array.run() == (1, "there are no keys\n")

    def test_objects_of_a_bucket(self, tmp_path: Path) -> None:
        tools = tmp_path / "tools"
        tools.mkdir()
        (tools / "aws").write_text(
            '#!/bin/sh\necho "$*" >> "$0.log"\necho \'["raw/b", "raw/a", "raw/more/"]\'\n'
        )
        (tools / "aws").chmod(0o755)
        array = ArrayFolder(tmp_path, "sharded-array", "--prefix", "s3://bucket/raw/")
        work = "def work(key: str) -> None:\n    pass\n"
        (tmp_path / "work.py").write_text(work)
        path = f"{tools}:{os.environ['PATH']}"
        assert [array.run(task=task, PATH=path)[0] for task in range(2)] == [0, 0]
        assert (tmp_path / "keys.txt").read_text() == "s3://bucket/raw/a\ns3://bucket/raw/b\n"
        assert (tools / "aws.log").read_text() == (
            "s3api list-objects-v2 --bucket bucket --prefix raw/"
            " --query Contents[].Key --output json\n"
        )


class TestSweep:
    @pytest.mark.parametrize(("goal", "best"), [("minimize", 2), ("maximize", 0)])
    def test_the_best_trial_is_shown(self, goal: str, best: int, tmp_path: Path) -> None:
        sweep = ArrayFolder(tmp_path, "sweep", "--goal", goal)
        points = [{"learning_rate": rate, "width": 8} for rate in ("9", "0.5", "0.01")]
        (tmp_path / "points.json").write_text(json.dumps(points))
        assert sweep.run_all() == [0, 0, 0, 0]
        status, told = sweep.run("--after")
        assert status == 0
        assert told.endswith(
            f"best: trial {best} with {json.dumps(points[best])}\n3 of 3 are done\n"
        )
        shown = json.loads((tmp_path / "sweep.json").read_text())
        assert [row["trial"] for row in shown["best"]] == [best]
        assert sorted(row["trial"] for row in shown["trials"]) == [0, 1, 2]

    def test_results_belong_to_their_values(self, tmp_path: Path) -> None:
        sweep = ArrayFolder(tmp_path, "sweep", "--goal", "minimize")
        old = [{"learning_rate": rate, "width": 8} for rate in ("0.1", "0.01")]
        new = [{"width": 8, "learning_rate": rate} for rate in ("0.5", "0.1")]
        (tmp_path / "points.json").write_text(json.dumps(old))
        assert sweep.run_all() == [0, 0, 0, 0]
        (tmp_path / "points.json").write_text(json.dumps(new))
        status, told = sweep.run("--after")
        assert status == 1
        assert f"1 of 2 are done\nnot done: {json.dumps(new[0], sort_keys=True)}\n" in told
        assert sweep.run()[1].startswith("task 0 of 4: 1 to do, of 2 in all\n")
        assert sweep.run(task=1)[1] == "task 1 of 4: 0 to do, of 2 in all\n"
        assert sweep.run("--after")[0] == 0
        shown = json.loads((tmp_path / "sweep.json").read_text())["trials"]
        assert [row["values"] for row in shown] == [new[1], new[0]]
        assert [row["score"] for row in shown] == pytest.approx([0.0081 + 1 / 8, 0.2401 + 1 / 8])

    def test_a_trial_without_a_number_is_not_done(self, tmp_path: Path) -> None:
        sweep = ArrayFolder(tmp_path, "sweep", "--goal", "minimize")
        points = [{"learning_rate": rate, "width": 8} for rate in ("1", "nan")]
        (tmp_path / "points.json").write_text(json.dumps(points))
        assert sweep.run_all() == [0, 1, 0, 0]
        status, told = sweep.run("--after", "--script", "s.sbatch")
        assert status == 1
        assert "best: trial 0" in told
        assert told.endswith("run what is left with: sbatch --array=1 s.sbatch\n")
