"""Which nodes slurmctld's log says that somebody set down, and why."""

from __future__ import annotations

from slurmpod.rehearsal.slurmctld_log import UPDATES, LogsOfControllers, SetDown, set_down

A_IS_DOWN = f"[2026-01-01T00:00:00.000] {UPDATES}a state set to DOWN\n"


def reason(node: str, given: str) -> str:
    return f"[2026-01-01T00:00:00.000] {UPDATES}{node} reason set to: {given}\n"


def state(node: str, given: str) -> str:
    return f"[2026-01-01T00:00:00.000] {UPDATES}{node} state set to {given}\n"


def test_reason_and_state_of_one_node_belong_together() -> None:
    log = reason("a", "Action:Replace") + reason("b", "fan: broken ") + state("b", "DOWN")
    assert [*set_down(log)] == [SetDown("b", "fan: broken ")]
    assert [*set_down(log + A_IS_DOWN)][1:] == [SetDown("a", "Action:Replace")]


def test_who_is_only_to_drain_or_to_fail_is_not_down() -> None:
    for other in ("DRAINED", "FAIL", "FAILING", "IDLE"):
        assert not [*set_down(reason("a", "Action:Replace") + state("a", other))]


def test_a_reason_lasts_until_the_node_is_in_service_again() -> None:
    asked = reason("a", "Action:Replace")
    assert [*set_down(asked + state("a", "FAIL") + A_IS_DOWN)] == [SetDown("a", "Action:Replace")]
    assert [*set_down(asked + state("a", "IDLE") + A_IS_DOWN)] == [SetDown("a", "")]


def test_only_what_is_new_is_told_of_each_controller() -> None:
    logs = LogsOfControllers()
    assert logs.new("head", A_IS_DOWN) == []
    assert logs.new("head", A_IS_DOWN) == []
    assert logs.new("head", A_IS_DOWN * 2 + state("b", "DOWN")) == [
        SetDown("a", ""),
        SetDown("b", ""),
    ]
    assert logs.new("other", A_IS_DOWN * 9) == []
    assert logs.new("head", A_IS_DOWN * 3) == []  # begun anew: rotated, or another machine
    assert logs.new("head", A_IS_DOWN * 4) == [SetDown("a", "")]
