"""Where slurmctld is slow or gone, jobs start, and what was left undone is done by a later check.

A Prolog that fails makes Slurm drain the node: all of them, if slurmctld is slow for all.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import slurmpod_health.__main__ as program
from slurmpod_health import clock, disks, hardware
from slurmpod_health import scontrol as command_of_slurm
from slurmpod_health.expectations import Expectations
from slurmpod_health.scontrol import SECONDS_OF_ALL
from slurmpod_lifecycle import health_programs
from tests.pure.health.fakes import BAD, Cluster, four_nodes, run

Prolog = Callable[[str], tuple[int, str]]
"""Runs on a node; returns the status, and what is logged last."""

four = pytest.fixture(four_nodes)


@pytest.fixture
def prolog(four: Cluster, monkeypatch: pytest.MonkeyPatch) -> Prolog:
    monkeypatch.setenv("SLURM_JOB_ID", "")
    said: list[str] = []
    monkeypatch.setattr("syslog.syslog", lambda _, text: said.append(text))

    def run_on(node: str) -> tuple[int, str]:
        expected = Expectations(node, "gpu", 8, 0, None, (), 0)
        monkeypatch.setattr(Expectations, "load", classmethod(lambda _: expected))
        return run(monkeypatch, BAD, "--prolog"), said[-1]

    return run_on


@pytest.mark.parametrize(
    "unanswered",
    [
        *({"one"}, {"all"}, {"drain"}, {"resume"}, {"all", "resume"}),
        {"one", "all", "drain", "resume"},
    ],
    ids=lambda words: " ".join(sorted(words)),
)
def test_a_prolog_fails_only_where_the_node_is_drained_and_not_one_too_many(
    four: Cluster, prolog: Prolog, unanswered: set[str]
) -> None:
    four.unanswered = unanswered
    failed = [name for name in ("n1", "n2", "n3", "n4") if prolog(name)[0] != 0]
    assert len(failed) <= 2
    assert set(failed) <= set(four.drained())


def test_the_finding_is_logged(four: Cluster, prolog: Prolog) -> None:
    four.unanswered = {"one"}
    status, said = prolog("n1")
    assert status == 0
    assert said.startswith("n1 goes on until it is checked again")
    assert said.endswith("(no answer within 3 s): 7 of 8 accelerators")


def test_the_next_check_drains_a_bad_node(four: Cluster, prolog: Prolog) -> None:
    four.unanswered = {"one", "all", "drain", "resume"}
    prolog("n1")
    four.unanswered = set()
    status, _ = prolog("n1")
    assert status == program.UNHEALTHY
    assert four.drained() == ["n1"]


@pytest.mark.parametrize("unanswered", [{"drain"}, {"all", "resume"}])
def test_the_next_check_takes_back_a_drain_that_nobody_has_weighed(
    four: Cluster, prolog: Prolog, unanswered: set[str]
) -> None:
    names = ["n1", "n2", "n3", "n4"]
    four.unanswered = unanswered
    assert [prolog(name)[0] for name in names] == [0, 0, 0, 0]
    assert four.drained() == names
    four.unanswered = set()
    statuses = [prolog(name)[0] for name in names]
    assert statuses == [0, 0, program.UNHEALTHY, program.UNHEALTHY]
    assert four.drained() == ["n3", "n4"]


@pytest.mark.parametrize("first", [1, 3])
def test_all_calls_of_a_run_end_within_their_time(
    four: Cluster, prolog: Prolog, monkeypatch: pytest.MonkeyPatch, first: float
) -> None:
    """All but the first answer just before they would be given up, and a drain is taken back."""
    now = [100.0]

    def slow(*command: str, seconds: float) -> str:
        now[0] += first if now == [100.0] else seconds
        return four(*command, seconds=seconds)

    monkeypatch.setattr(command_of_slurm, "probe", slow)
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    four.reasons.update(n2="slurmpod: 7 of 8", n3="slurmpod: 7 of 8")
    status, _ = prolog("n1")
    assert status == 0
    assert now[0] - 100 == SECONDS_OF_ALL


def test_the_program_ends_before_it_is_ended() -> None:
    """Who is ended says nothing about the node, and a job starts on a bad one."""
    checks = max(hardware.SECONDS, 2 * disks.SECONDS, clock.SECONDS)
    start_of_python = 2
    assert checks + SECONDS_OF_ALL + start_of_python < health_programs.SECONDS
