"""Records of jobs: read with every odd name, and refused where Slurm keeps none."""

from __future__ import annotations

import pytest

from slurmpod.aws.errors import AwsUnavailable
from slurmpod.operations.job_records import last_jobs, records_question

RECORDS = """\
1|ubuntu|cpu|2|COMPLETED|1795467600|1795467610|1795467700|first-job
2|alice|gpu|4|CANCELLED by 1001|1795467600|None|1795467650|a|b
3|bob|cpu|1|RUNNING|1795467600|1795467660|Unknown|train
"""


def test_the_newest_job_comes_first_with_its_times() -> None:
    running, cancelled, first = last_jobs(RECORDS)
    assert (first.id, first.waited_seconds, first.ran_seconds) == ("1", 10, 90)
    assert (cancelled.name, cancelled.state) == ("a|b", "CANCELLED by 1001")
    assert (cancelled.waited_seconds, cancelled.ran_seconds) == (None, None)
    assert (running.waited_seconds, running.ran_seconds) == (60, None)


def test_no_record_is_no_error() -> None:
    assert last_jobs("\n") == ()


def test_what_slurm_says_instead_is_told() -> None:
    with pytest.raises(AwsUnavailable, match="Slurm accounting storage is disabled"):
        last_jobs("Slurm accounting storage is disabled\n")


def test_times_are_asked_for_in_seconds_of_no_zone() -> None:
    assert "SLURM_TIME_FORMAT=%s" in records_question()
