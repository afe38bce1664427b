"""The record of the first job, and what is said where there is none."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from slurmpod.rehearsal import first_job as first_job_module
from slurmpod.rehearsal.first_job import NO_ACCOUNTING, FirstJob, run_first_job
from slurmpod.rehearsal.rehearse import Outcome, RehearsedFor
from slurmpod.rehearsal.report import as_data, print_outcome
from slurmpod.rehearsal.shell import CommandFailed, Shell

REFUSAL = "sacct on login exited with status 1:\nSlurm accounting storage is disabled"


class WithoutRecords(Shell):
    """A node on which all works but `sacct`; `ran` gets what it was asked."""

    def __init__(self, ran: list[Sequence[str]]) -> None:
        super().__init__(Path("/"), "login")
        self._ran = ran

    def run(self, command: Sequence[str], *, stdin: str = "") -> str:
        self._ran.append(command)
        if command[0] == "sacct":
            raise CommandFailed(REFUSAL)
        return "idle"


class LateRecord(Shell):
    """A node on which the record of a job gets its states one after the other."""

    def __init__(self, states: Iterable[str]) -> None:
        super().__init__(Path("/"), "login")
        self._states: Iterator[str] = iter(states)
        self._state = ""

    def run(self, command: Sequence[str], *, stdin: str = "") -> str:
        if command[0] != "sacct":
            return "idle"
        if "--noheader" in command:
            self._state = next(self._states, self._state)
        return self._state


def first_job(
    *,
    accounting: bool = True,
    own_scripts: bool = True,
    types: Sequence[Any] = (),
    ran: list[Sequence[str]] | None = None,
    shell: Shell | None = None,
) -> FirstJob:
    group = SimpleNamespace(count=1, partition="cpu", facts_of_types=types)
    resolved: Any = SimpleNamespace(
        groups_with=lambda _role: [group],
        lustre=(),
        openzfs=None,
        slurm=SimpleNamespace(accounting=accounting),
        lifecycle=SimpleNamespace(own_scripts=own_scripts),
    )
    job = run_first_job(shell or WithoutRecords([] if ran is None else ran), resolved)
    assert job
    return job


GPUS_8, GPUS_4, NONE, NEURON = (
    SimpleNamespace(accelerator_kind=kind, accelerator_count=count)
    for kind, count in (("gpu", 8), ("gpu", 4), ("", 0), ("neuron", 16))
)


@pytest.mark.parametrize(
    ("types", "own_scripts", "asked"),
    [
        ([GPUS_8], False, ["--gpus-per-node=8"]),
        ([GPUS_8, GPUS_4], False, ["--gpus-per-node=4"]),
        ([GPUS_8, NONE], False, []),
        ([NEURON], False, []),
        ([None], False, []),
        ([GPUS_8], True, []),
    ],
)
def test_it_asks_for_all_gpus_of_its_nodes(
    types: list[Any], own_scripts: bool, asked: list[str]
) -> None:
    ran: list[Sequence[str]] = []
    first_job(accounting=False, own_scripts=own_scripts, types=types, ran=ran)
    (srun,) = (command for command in ran if command[0] == "srun")
    assert [word for word in srun if word.startswith("--gpus")] == asked


def test_the_reason_is_told_where_own_scripts_keep_no_records() -> None:
    job = first_job()
    assert (job.sacct, job.no_record) == ("", REFUSAL)


def test_the_reason_is_told_where_the_environment_asks_for_none() -> None:
    assert first_job(accounting=False).no_record == NO_ACCOUNTING


def test_records_that_our_own_scripts_should_have_kept_are_missed() -> None:
    with pytest.raises(CommandFailed, match="storage is disabled"):
        first_job(own_scripts=False)


def test_a_record_that_comes_late_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    late = LateRecord(("", "RUNNING", "COMPLETED"))
    assert first_job(own_scripts=False, shell=late).sacct == "COMPLETED"


def test_a_record_that_stays_late_is_shown_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_job_module, "RECORD_TIMEOUT_SECONDS", 0)
    assert first_job(own_scripts=False, shell=LateRecord(("RUNNING",))).sacct == "RUNNING"


def test_the_report_says_what_the_scripts_ran_on(capsys: pytest.CaptureFixture[str]) -> None:
    done = RehearsedFor("dev/0123456789ab", "The image of January.", "aws")
    outcome = Outcome("http://localhost:1", (), (), "login", None, (), None, None, done)
    print_outcome(outcome)
    said = "Rehearsed for\nThe image of January. Scripts: dev/0123456789ab; image aws\n"
    assert said in capsys.readouterr().out
    data: Any = as_data(outcome, {})
    assert data["rehearsed_for"]["bundle"] == "dev/0123456789ab"


def test_the_report_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = Outcome("http://localhost:1", (), (), "login", first_job(), (), None, None)
    print_outcome(outcome)
    assert f"No job records\n{REFUSAL}\n" in capsys.readouterr().out
    data: Any = as_data(outcome, {})
    assert data["first_job"]["no_record"] == REFUSAL


def test_the_report_shows_what_jobs_print_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    job = replace(first_job(), output="train:fire:[/fsx]")
    print_outcome(Outcome("http://localhost:1", (), (), "login", job, (), None, None))
    assert "Output of the first job\ntrain:fire:[/fsx]\n" in capsys.readouterr().out
