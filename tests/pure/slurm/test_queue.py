"""Jobs as squeue lists them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from slurmpod.slurm.queue import read_queue, squeue

RUNS = "7|RUNNING|alice|cpu|2|1:02|2026-01-03T10:00:00|ip-[1-2]|None|train | of all\n"
WAITS = "9_[1-40%4]|PENDING|bob|cpu|1|0:00|N/A||Priority|sweep\n"


def test_a_job_is_read_and_what_is_none_is_left_out() -> None:
    (job,) = read_queue(f"slurm_load_jobs error: Unable to contact slurm controller\n{RUNS}")
    assert (job.id, job.user, job.elapsed, job.nodes) == ("7", "alice", "1:02", "ip-[1-2]")
    assert job.ends == datetime(2026, 1, 3, 10, tzinfo=UTC)
    assert (job.name, job.is_waiting, job.tasks) == ("train | of all", False, 1)


def test_an_array_that_waits_is_many_jobs_and_has_no_end() -> None:
    (job,) = read_queue(WAITS)
    assert (job.is_waiting, job.tasks, job.ends, job.reason) == (True, 40, None, "Priority")


@pytest.mark.parametrize("option", ["--all", "--states=RUNNING"])
def test_squeue_is_asked_for_what_is_read(option: str) -> None:
    columns = "%i|%T|%u|%P|%D|%M|%e|%N|%r|%j"  # id, state, user, partition, ... as RUNS has them
    assert squeue(option) == f"env TZ=UTC squeue --noheader {option} --format='{columns}'"
