from __future__ import annotations

import itertools
import logging
import re
import threading
from collections.abc import Callable
from typing import ClassVar

import pytest

from slurmpod_lifecycle.runner import (
    LONGEST_DELAY_SECONDS,
    Result,
    Runner,
    State,
    _Running,
    _timed_out,
    back_off,
)
from slurmpod_lifecycle.step import NotYet, Step, StepFailed

LONG_SECONDS = 60.0
SHORT_SECONDS = 0.05


class Recorded(Step):
    """A step made of a function, which notes when it was applied."""

    applied: ClassVar[list[str]] = []

    def __init__(
        self,
        name: str,
        action: Callable[[], str] = lambda: "did it",
        *,
        needs: tuple[str, ...] = (),
        required: bool = True,
        done: bool = False,
    ) -> None:
        self.name = name  # type: ignore[misc]  # the class's in real steps
        self.needs = needs
        self.required = required  # type: ignore[misc]
        self._action = action
        self._done = done

    def is_done(self) -> bool:
        return self._done

    def apply(self) -> str:
        self.applied.append(self.name)
        return self._action()


@pytest.fixture(autouse=True)
def _forget_earlier_tests() -> None:
    Recorded.applied.clear()


def run(*steps: Step, timeout_seconds: float = LONG_SECONDS) -> dict[str, Result]:
    results = Runner(timeout_seconds, delays=lambda: itertools.repeat(0.001)).run(steps)
    assert {result.step for result in results} == {step.name for step in steps}
    return {result.step: result for result in results}


def fails(reason: str = "broken", fix: str = "mend it") -> Callable[[], str]:
    def action() -> str:
        raise StepFailed(reason, fix)

    return action


def succeeds_at(attempt: int) -> Callable[[], str]:
    attempts = itertools.count(1)

    def action() -> str:
        if next(attempts) < attempt:
            raise NotYet("the network is not there", "wait")
        return "did it"

    return action


def never() -> str:
    raise NotYet("still missing", "create it")


class TestOrder:
    def test_a_step_runs_after_those_it_needs(self) -> None:
        run(Recorded("c", needs=("a", "b")), Recorded("b", needs=("a",)), Recorded("a"))
        assert Recorded.applied == ["a", "b", "c"]

    def test_a_need_that_this_node_does_not_have_is_passed(self) -> None:
        assert run(Recorded("a", needs=("elsewhere",)))["a"].state is State.DONE

    def test_independent_steps_run_side_by_side(self) -> None:
        meeting = threading.Barrier(2, timeout=LONG_SECONDS)

        def meet() -> str:
            meeting.wait()
            return "met"

        results = run(Recorded("a", meet), Recorded("b", meet))
        assert {result.detail for result in results.values()} == {"met"}

    def test_steps_that_need_each_other_are_a_mistake(self) -> None:
        with pytest.raises(ValueError, match="a, b"):
            run(Recorded("a", needs=("b",)), Recorded("b", needs=("a",)))


class TestRepetition:
    def test_what_is_done_is_left_alone(self) -> None:
        assert run(Recorded("a", done=True))["a"].state is State.ALREADY_DONE
        assert Recorded.applied == []

    def test_what_may_pass_is_tried_again(self) -> None:
        result = run(Recorded("a", succeeds_at(3)))["a"]
        assert (result.state, result.attempts, result.detail) == (State.DONE, 3, "did it")

    @pytest.mark.parametrize("hangs", [True, False])
    def test_what_does_not_pass_ends_with_the_time(self, hangs: bool) -> None:
        forever = threading.Event()

        def wait() -> str:
            if hangs:
                forever.wait()
            return never()

        result = run(Recorded("a", wait), timeout_seconds=SHORT_SECONDS)["a"]
        forever.set()
        assert result.state is State.FAILED
        assert "timed out after 0.05 s" in result.detail

    def test_a_step_may_have_a_time_of_its_own(self) -> None:
        next_began = threading.Event()

        def begin() -> str:
            next_began.set()
            return "began"

        def wait() -> str:
            assert next_began.wait(LONG_SECONDS)
            return "waited"

        impatient = Recorded("a", never, required=False)
        impatient.timeout_seconds = SHORT_SECONDS
        results = run(Recorded("b", wait), impatient, Recorded("c", begin, needs=("a",)))
        assert "timed out after 0.05 s" in results["a"].detail
        assert results["b"].state is State.DONE

    def test_when_time_is_up_the_last_reason_is_the_reason(self) -> None:
        result = _timed_out(
            _Running(Recorded("a"), 0.0, 600, last=NotYet("still missing", "create it"))
        )
        assert result.detail == "still missing (timed out after 600 s)"
        assert result.fix == "create it"

    def test_delays_grow_up_to_a_limit_and_vary(self) -> None:
        delays = list(itertools.islice(back_off(), 40))
        assert delays[0] < delays[10] <= max(delays) <= LONGEST_DELAY_SECONDS
        assert list(itertools.islice(back_off(), 40)) != delays


class TestFailure:
    def test_a_final_failure_is_not_tried_again(self) -> None:
        result = run(Recorded("a", fails()))["a"]
        assert (result.state, result.attempts) == (State.FAILED, 1)
        assert (result.detail, result.fix) == ("broken", "mend it")

    def test_a_required_failure_ends_the_run_at_once(self) -> None:
        results = run(
            Recorded("bad", fails()), Recorded("slow", never), Recorded("c", needs=("slow",))
        )
        assert results["bad"].is_fatal
        assert results["slow"].state is State.NOT_RUN
        assert results["c"].state is State.NOT_RUN
        assert "c" not in Recorded.applied

    def test_an_optional_failure_is_only_reported(self) -> None:
        results = run(Recorded("extra", fails(), required=False), Recorded("a", needs=("extra",)))
        assert results["extra"].state is State.FAILED
        assert not results["extra"].is_fatal
        assert results["a"].state is State.DONE

    def test_a_mistake_in_a_step_is_a_failure_with_its_name(self) -> None:
        def divide() -> str:
            return str(1 // 0)

        result = run(Recorded("a", divide))["a"]
        assert result.is_fatal
        assert result.detail == "unexpected ZeroDivisionError: integer division or modulo by zero"


class TestLog:
    def lines(self, caplog: pytest.LogCaptureFixture, *steps: Step) -> list[str]:
        """Return the log of a run, with every duration written as N."""
        with caplog.at_level(logging.INFO):
            run(*steps)
        return [re.sub(r"\d+\.\d s", "N s", message) for message in caplog.messages]

    def test_says_what_was_done_and_how_long_it_took(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        assert self.lines(caplog, Recorded("a")) == ["a: done in N s: did it"]

    def test_says_what_was_done_already(self, caplog: pytest.LogCaptureFixture) -> None:
        assert self.lines(caplog, Recorded("a", done=True)) == ["a: already done in N s"]

    def test_says_once_what_is_waited_for(self, caplog: pytest.LogCaptureFixture) -> None:
        assert self.lines(caplog, Recorded("a", succeeds_at(5))) == [
            "a: waiting: the network is not there",
            "a: done in N s: did it",
        ]

    def test_says_why_a_step_failed_and_what_to_do(self, caplog: pytest.LogCaptureFixture) -> None:
        lines = self.lines(caplog, Recorded("a", fails()))
        assert lines == ["a: failed in N s: broken; fix: mend it"]
