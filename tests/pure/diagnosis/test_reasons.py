"""Reasons and states are those of Slurm's own source, of both versions, and each has a meaning."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurmpod.operations.why.job_reasons import NEVER, UNKNOWN, reason_of
from slurmpod.operations.why.job_states import STATES
from slurmpod.operations.why.meanings import meaning_of

LINES = (Path(__file__).parents[2] / "cases" / "slurm_job_reasons.txt").read_text().splitlines()
REASONS = [line.split()[0] for line in LINES if not line.startswith("#")]
FACTS = dict.fromkeys(
    ("time", "partition", "account", "qos", "user", "dependency", "start", "partition_time", "node",
     "missing", "qos_time", "slurmd"),
    "x",
)  # fmt: skip
JOB_STATES = """
PENDING RUNNING SUSPENDED COMPLETED CANCELLED FAILED TIMEOUT NODE_FAIL PREEMPTED BOOT_FAIL DEADLINE
OUT_OF_MEMORY COMPLETING STAGE_OUT CONFIGURING EXPEDITING RESIZING REQUEUED REQUEUE_FED REQUEUE_HOLD
SPECIAL_EXIT STOPPED REVOKED RESV_DEL_HOLD SIGNALING
"""


@pytest.mark.parametrize("name", REASONS)
def test_every_reason_of_a_job_has_a_meaning_and_a_next_step(name: str) -> None:
    reason = reason_of(name)
    assert reason
    found = reason.of(FACTS)
    assert found.says
    assert found.fix


@pytest.mark.parametrize("state", JOB_STATES.split())
def test_every_state_of_a_job_has_a_meaning(state: str) -> None:
    is_read_by_its_reason = state == "PENDING"
    shown = "FAILED exit 3:0" if state == "FAILED" else state
    assert is_read_by_its_reason or meaning_of(shown, STATES)


def test_blanks_may_be_underscores() -> None:
    assert reason_of("launch_failed_requeued_held") == reason_of("(launch failed requeued held)")


@pytest.mark.parametrize(
    "name", [each for each in REASONS if each.endswith(("PerJob", "PerJobLimit", "PerNode"))]
)
def test_waiting_never_helps_against_what_one_job_may_have(name: str) -> None:
    reason = reason_of(name)
    assert reason
    assert reason.waiting == NEVER


@pytest.mark.parametrize("name", ["AssocGrpCPUMinutesLimit", "QOSGrpGRESMinutes"])
def test_a_budget_of_minutes_comes_back_as_usage_decays(name: str) -> None:
    reason = reason_of(name)
    assert reason
    assert reason.waiting == UNKNOWN


def test_what_slurm_has_never_said_has_none() -> None:
    assert reason_of("Whatever") is None
