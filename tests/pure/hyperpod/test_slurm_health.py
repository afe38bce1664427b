"""Which events tell of slurmdbd, without any machine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from embedded_aws.cluster import ClusterEvent, ClusterFailed
from slurmpod.rehearsal.hyperpod import hyperpod, slurm_health
from slurmpod.rehearsal.hyperpod.slurm_health import HEALTHY, SlurmHealth
from tests.pure.hyperpod.clusters import cluster, group


class Run:
    """A cluster whose events are kept."""

    machines = None

    def __init__(self, *, is_continuous: bool = True) -> None:
        self.cluster = cluster(group("head"))
        self.cluster.settings = replace(self.cluster.settings, is_continuous=is_continuous)
        self.recorded: list[ClusterEvent] = []

    def record(self, event: ClusterEvent) -> None:
        self.recorded.append(event)


def after(run: Any, monkeypatch: pytest.MonkeyPatch, *found: str) -> list[tuple[str, Any]]:
    """Return level and metadata of the events of a run whose daemon is found so, look by look."""
    answers = iter(found)
    monkeypatch.setattr(slurm_health, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(slurm_health, "run_command", lambda *_: f"{next(answers)}\n".encode())
    health = SlurmHealth(run)
    for _ in found:
        health.look("head")
    return [(event.level, dict(event.metadata)) for event in run.recorded]


DOWN, UNREACHABLE = "DaemonDown", "DbUnreachable"
IS_DOWN = ("Warn", {"Component": "Slurmdbd", "Status": "Unhealthy", "Reason": DOWN})
IS_HEALTHY = ("Info", {"Component": "Slurmdbd", "Status": "Healthy"})


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ((HEALTHY, HEALTHY), []),
        ((DOWN, DOWN, HEALTHY, HEALTHY), []),
        ((HEALTHY, HEALTHY, DOWN), []),
        ((HEALTHY, HEALTHY, DOWN, DOWN, DOWN, HEALTHY, HEALTHY), [IS_DOWN, IS_HEALTHY]),
        ((HEALTHY, HEALTHY, DOWN, UNREACHABLE, HEALTHY, HEALTHY), []),
        (("", "", HEALTHY, HEALTHY, "", ""), []),
    ],
)
def test_what_lasts_and_changes_is_told(
    found: tuple[str, ...], told: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert after(Run(), monkeypatch, *found) == told


def test_nobody_looks_where_there_are_no_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurm_health, "run_command", lambda *_: pytest.fail("looked"))
    SlurmHealth(Run(is_continuous=False)).look("head")  # type: ignore[arg-type]


def test_a_database_that_cannot_be_taken_up_is_an_event() -> None:
    run: Any = Run()
    with pytest.raises(ClusterFailed), hyperpod._recorded_if_it_fails(run, "NotApplicable"):
        raise ClusterFailed("no password")
    (event,) = run.recorded
    assert (event.level, event.failure) == ("Error", "no password")
    assert event.metadata == {"RollbackStatus": "NotApplicable"}
