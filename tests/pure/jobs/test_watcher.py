"""The watcher of a training: what is a hang or a crawl, and which rank the others wait for."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from slurmpod.jobs.lint import lint
from slurmpod.jobs.metrics.formats import FORMATS
from slurmpod.jobs.recipes.recipe import SHARED_PROGRAMS
from slurmpod.jobs.watcher import watcher_files

WATCHER = SHARED_PROGRAMS.parent / "slurmpod_watch"
sys.path.insert(0, str(WATCHER))
try:
    flights, node, pace, verdict = map(import_module, ("flights", "node", "pace", "verdict"))
finally:
    sys.path.remove(str(WATCHER))

PATTERNS: list[str] = json.loads(watcher_files()["slurmpod_watch/patterns.json"])


class TestPace:
    def steady(self, count: int, seconds: float = 2.0, **limits: float) -> Any:
        found = pace.Pace(pace.Limits(**limits), 0.0)
        for number in range(count):
            found.report(number * seconds, 1)
        return found

    def test_a_training_hangs_when_it_is_silent_for_long_and_for_many_steps(self) -> None:
        found = self.steady(20, floor=5.0)
        assert not found.hangs(found.last + 20)
        assert found.hangs(found.last + 20.1)

    def test_a_short_silence_is_no_hang_however_fast_its_steps_are(self) -> None:
        found = self.steady(20, seconds=0.1, floor=300.0)
        assert not found.hangs(found.last + 299)
        assert found.hangs(found.last + 301)

    def test_it_may_take_long_to_its_first_steps_while_it_writes(self) -> None:
        found = pace.Pace(pace.Limits(start=100.0, floor=5.0), 0.0)
        found.output(90.0, "loading weights")
        assert not found.hangs(189.0)
        assert found.hangs(191.0)

    def test_saving_and_compiling_have_a_time_of_their_own(self) -> None:
        found = self.steady(20, floor=5.0, pause=600.0)
        found.output(found.last + 1, "Saving checkpoint to /fsx")
        assert not found.hangs(found.last + 599)
        found.report(found.last + 599, 1)
        assert found.hangs(found.last + 1199)

    def test_a_silence_that_came_before_is_usual(self) -> None:
        found = self.steady(20, floor=5.0)
        found.report(found.last + 18, 1)
        assert not found.hangs(found.last + 35)
        assert found.hangs(found.last + 37)

    def test_a_hang_that_is_over_does_not_become_usual(self) -> None:
        found = self.steady(20, floor=5.0)
        found.report(found.last + 500, 1)
        assert found.hangs(found.last + 30)

    def test_what_is_usual_is_known_of_many_steps_that_are_seen_at_once(self) -> None:
        found = pace.Pace(pace.Limits(floor=5.0), 0.0)
        for now in (1.0, 2.0):
            found.report(now, 20)
        assert found.usual == 0.05
        assert found.hangs(7.1)

    def test_a_training_crawls_when_its_last_steps_took_much_longer(self) -> None:
        found = self.steady(30)
        assert found.crawl is None
        for _ in range(pace.RECENT):
            found.report(found.last + 7, 1)
        assert found.crawl == (7.0, 2.0)

    def test_steps_of_less_than_a_second_do_not_crawl(self) -> None:
        found = self.steady(30, seconds=0.01)
        for _ in range(pace.RECENT):
            found.report(found.last + 0.5, 1)
        assert found.crawl is None


class TestLog:
    @pytest.mark.parametrize("each", FORMATS, ids=lambda each: each.name)
    def test_each_format_of_the_metrics_is_a_step(self, each: Any, tmp_path: Path) -> None:
        file = tmp_path / "log"
        file.write_text("step 1 loss 5.5\n")
        log = pace.Log(file, PATTERNS)
        file.open("a").write(f"0: {each.example}\n")
        assert log.read()[0] == 1
        assert log.read() == (0, "")

    def test_a_step_that_several_ranks_print_counts_once(self, tmp_path: Path) -> None:
        file = tmp_path / "log"
        log = pace.Log(file, PATTERNS)
        file.write_text("0: step 4 loss 5.5\n1: step 4 loss 5.4\n1: saving\n0: step 5 lo")
        assert log.read() == (1, "1: saving")
        file.open("a").write("ss 5.3\nslurmpod-watch: hang: no checkpoint\n")
        assert log.read() == (1, "")
        assert log.step == "5"

    def test_a_log_that_was_emptied_is_read_from_its_beginning(self, tmp_path: Path) -> None:
        file = tmp_path / "log"
        file.write_text("a long line of before\n" * 9)
        log = pace.Log(file, PATTERNS)
        file.write_text("step 1 loss 5.5\n")
        assert log.read()[0] == 1

    def test_a_heartbeat_is_a_file_that_changes(self, tmp_path: Path) -> None:
        file = tmp_path / "beat"
        heartbeat = pace.Heartbeat(file)
        assert heartbeat.read()[0] == 0
        file.touch()
        assert heartbeat.read()[0] == 1
        assert heartbeat.read()[0] == 0


REDUCE = (
    "all_reduce (/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py:3004)"
)
DATA = "samples (/fsx/job/model.py:17)"
MAIN = "main (/fsx/job/train.py:40)"


def rank(number: int, *stack: str, state: str = "S", waits: str = "", children: Any = ()) -> Any:
    return verdict.Rank(number, f"ip-10-0-0-{number}", 100 + number, state, waits, stack, children)


class TestVerdict:
    def test_the_rank_outside_the_collective_is_named_with_its_place(self) -> None:
        inner = "read (/usr/lib/python3.10/ssl.py:1)"
        said = verdict.hanging([rank(0, REDUCE, MAIN), rank(1, inner, DATA, MAIN)])
        assert said == (
            "rank 0 waits in a collective, and rank 1 on ip-10-0-0-1 (process 101) has not come to"
            " it: it is at samples (model.py:17), in read (ssl.py:1)"
        )

    def test_a_rank_that_waits_for_its_loader_is_named_so(self) -> None:
        loader = "_next_data (/venv/site-packages/torch/utils/data/dataloader.py:9)"
        said = verdict.hanging([rank(0, REDUCE), rank(1, REDUCE), rank(2, loader, MAIN)])
        assert said.startswith("2 ranks wait in a collective, and rank 2 on ip-10-0-0-2")
        assert "waits for its data: it is at main (train.py:40)" in said

    def test_a_stopped_process_needs_no_stack(self) -> None:
        said = verdict.hanging([rank(0, REDUCE), rank(1, state="T")])
        assert said == "rank 1 on ip-10-0-0-1 (process 101) is stopped by a signal"

    def test_a_stopped_loader_is_the_cause(self) -> None:
        said = verdict.hanging([rank(0), rank(1, children=((7, "T", "python3"),))])
        assert "rank 1 on ip-10-0-0-1 (process 101) waits for its data: process 7 (python3)" in said

    def test_a_rank_in_the_kernel_waits_for_a_file_system(self) -> None:
        said = verdict.hanging([rank(0, REDUCE), rank(1, state="D", waits="cl_sync_io_wait")])
        assert said.endswith("waits for a disk or a file system (cl_sync_io_wait)")

    def test_a_node_that_does_not_answer_comes_first(self) -> None:
        assert verdict.hanging([rank(0, REDUCE)], ["ip-9"]).startswith("ip-9 did not answer")

    def test_the_flight_recorder_knows_more_than_stacks(self) -> None:
        missing = flights.Missing("nccl:all_reduce 12 of the group default_pg", (1,), (0, 2))
        said = verdict.hanging([rank(each, DATA) for each in range(3)], [], missing)
        assert said.startswith(
            "rank 1 on ip-10-0-0-1 (process 101) has not come to nccl:all_reduce 12"
        )

    def test_without_stacks_the_kernel_shows_who_is_elsewhere(self) -> None:
        ranks = [rank(each, waits="ep_poll") for each in range(3)]
        said = verdict.hanging([*ranks, rank(3, waits="pipe_read")])
        assert said.startswith("rank 3 on ip-10-0-0-3 (process 103) is elsewhere than 3 of 4")

    @pytest.mark.parametrize("ranks", [[rank(0, REDUCE), rank(1, REDUCE)], [rank(0), rank(1)]])
    def test_nobody_is_blamed_where_all_are_alike(self, ranks: Any) -> None:
        assert verdict.hanging(ranks).startswith("all ranks wait alike: ")

    def test_a_rank_whose_stack_is_unknown_is_not_taken_for_one_outside(self) -> None:
        said = verdict.hanging([rank(0, REDUCE), rank(1, DATA), rank(2)])
        assert "has not come" not in said

    def test_the_slow_rank_is_the_one_for_which_others_wait_most(self) -> None:
        looks = [[rank(0, REDUCE), rank(1, DATA)]] * 4 + [[rank(0, MAIN), rank(1, DATA)]]
        said = verdict.slowest(looks)
        assert said.startswith("rank 1 on ip-10-0-0-1 (process 101) is busy: it is at samples")
        assert "in 5 of 5 looks" in said

    def test_no_rank_is_slow_where_two_are_alike(self) -> None:
        assert verdict.slowest([[rank(0, DATA), rank(1, DATA)]] * 5) == "no rank stands out"


def dump(reached: int, group: str = "0", created: int = 1, **more: object) -> dict[str, Any]:
    """Return a dump as PyTorch's reader takes it (components/loader.py and builder.py)."""
    entry = {
        "process_group": (group, "default_pg"),
        "collective_seq_id": reached,
        "profiling_name": "nccl:all_reduce",
        "time_created_ns": created,
        "is_p2p": False,
    }
    config = {group: {"name": group, "desc": "default_pg", "ranks": "[0, 1, 2]"}}
    return {"version": "2.10", "pg_config": config, "entries": [entry], **more}


class TestFlights:
    def test_ranks_that_have_not_come_to_a_collective_are_named(self) -> None:
        found = flights.missing({0: dump(12), 1: dump(11), 2: dump(12)})
        assert found == flights.Missing("nccl:all_reduce 12 of the group default_pg", (1,), (0, 2))

    def test_a_rank_that_has_entered_none_is_missing(self) -> None:
        found = flights.missing({0: dump(1), 1: dump(1, entries=[]), 2: dump(1)})
        assert found is not None
        assert found.ranks == (1,)

    def test_nobody_is_missing_where_all_are_equally_far(self) -> None:
        assert flights.missing({each: dump(12) for each in range(3)}) is None
        assert flights.missing({}) is None

    def test_dumps_are_read_as_pickle_and_as_json_and_hold_no_code(self, tmp_path: Path) -> None:
        (tmp_path / "flight_0").write_bytes(pickle.dumps(dump(3)))
        (tmp_path / "flight_1").write_text(json.dumps(dump(2)))
        (tmp_path / "flight_2").write_bytes(pickle.dumps(os.getpid))
        (tmp_path / "flight_3").write_bytes(b"cut off")
        found = flights.dumps_in(tmp_path)
        assert sorted(found) == [0, 1]
        assert flights.missing(found).ranks == (1,)


PY_SPY = """\
Process 7: python train.py
Python v3.11.4 (/usr/bin/python3.11)

Thread 7 (idle): "MainThread"
    samples (/fsx/job/model.py:17)
    main (/fsx/job/train.py:40)
Thread 9 (idle): "Thread-1"
    wait (threading.py:320)
"""
FAULTHANDLER = """\
Thread 0x00007f1 (most recent call first):
  File "/usr/lib/python3.10/threading.py", line 320 in wait

Current thread 0x00007f2 (most recent call first):
  File "/fsx/job/model.py", line 17 in samples
  File "/fsx/job/train.py", line 40 in main
"""


class TestNode:
    @pytest.mark.parametrize(
        ("text", "pattern"), [(PY_SPY, node.OF_PY_SPY), (FAULTHANDLER, node.OF_FAULTHANDLER)]
    )
    def test_stacks_are_read_as_both_write_them(self, text: str, pattern: Any) -> None:
        assert node.frames(text, pattern) == [DATA, MAIN]

    def test_a_rank_is_found_with_its_stack_and_what_it_started(self, tmp_path: Path) -> None:
        program = (
            "import faulthandler, signal, subprocess, sys, time\n"
            f"faulthandler.register(signal.SIGUSR2, open({str(tmp_path / '3.txt')!r}, 'a'))\n"
            "subprocess.Popen(['sleep', '60'])\n"
            "def samples():\n    print(flush=True)\n    time.sleep(60)\n"
            "samples()\n"
        )
        (tmp_path / "program.py").write_text(program)
        variables = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "RANK": "3"}
        variables["SLURMPOD_STACKS"] = str(tmp_path)
        command = [sys.executable, str(tmp_path / "program.py")]
        with subprocess.Popen(
            command, env=variables, stdout=subprocess.PIPE, start_new_session=True
        ) as running:
            try:
                assert running.stdout
                running.stdout.readline()
                (found,) = node.look("7")
                os.kill(running.pid, signal.SIGSTOP)
                while node.Process(running.pid).state != "T":
                    time.sleep(0.01)
                (stopped,) = node.look("7")
            finally:
                os.killpg(running.pid, signal.SIGKILL)
        assert (found["rank"], found["pid"]) == (3, running.pid)
        assert found["stack"][0].startswith("samples (")
        assert [name for _, _, name in found["children"]] == ["sleep"]
        assert (stopped["state"], stopped["stack"]) == ("T", [])


def test_outside_a_job_the_watcher_only_runs_the_command() -> None:
    variables = {name: value for name, value in os.environ.items() if name != "SLURM_JOB_ID"}
    command = [sys.executable, str(WATCHER / "watch.py"), "--", "sh", "-c", "exit 3"]
    assert subprocess.run(command, env=variables, check=False).returncode == 3


def test_the_linter_sees_the_step_behind_the_watcher() -> None:
    script = (
        "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --exclusive\n#SBATCH --output=%j.out\n"
        "#SBATCH --ntasks-per-node=1\n#SBATCH --requeue --open-mode=append\n"
        "python3 slurmpod_watch/watch.py --action tell -- \\\n"
        "    srun {} bash -c 'torchrun train.py'\n"
    )
    assert "JOB-011" in {each.rule for each in lint("a.sbatch", script.format(""))}
    assert "JOB-011" not in {
        each.rule for each in lint("a.sbatch", script.format("--auto-resume=1"))
    }
