"""Runs steps in the order of their dependencies, and in parallel where they have none.

A step is tried until it succeeds, fails permanently, or times out. The first failure of a required
step ends the whole run at once, so that its reason is the last thing in the log.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from queue import Empty, SimpleQueue

from slurmpod_lifecycle.step import NotYet, Step, StepFailed

FIRST_DELAY_SECONDS = 0.25
DELAY_GROWTH = 1.5
LONGEST_DELAY_SECONDS = 3.0

MISTAKE = "%s: this is a mistake in the lifecycle scripts"
"""The log message above the traceback of an unexpected error in a step."""

log = logging.getLogger("slurmpod_lifecycle")


class State(Enum):
    """How a step ended."""

    DONE = "done"
    ALREADY_DONE = "already done"
    FAILED = "failed"
    NOT_RUN = "not run"
    WOULD_RUN = "would run"


@dataclass(frozen=True)
class Result:
    """The result of one step: `detail` is what it did or why it failed, `fix` only for failures."""

    step: str
    state: State
    required: bool
    seconds: float = 0.0
    attempts: int = 0
    detail: str = ""
    fix: str = ""
    needs: tuple[str, ...] = ()

    @property
    def is_fatal(self) -> bool:
        """Whether it makes the node unusable."""
        return self.required and self.state is State.FAILED


@dataclass
class _Running:
    """A step in its thread. `last` is why its latest attempt did not succeed."""

    step: Step
    started: float
    timeout_seconds: float
    stopped: threading.Event = field(default_factory=threading.Event)
    attempts: int = 0
    last: NotYet | None = None

    @property
    def deadline(self) -> float:
        """The deadline, on the monotonic clock."""
        return self.started + self.timeout_seconds

    def result(self, state: State, detail: str, fix: str = "") -> Result:
        step, seconds = self.step, round(time.monotonic() - self.started, 3)
        attempts, needs = self.attempts, step.needs
        return Result(step.name, state, step.required, seconds, attempts, detail, fix, needs)


def back_off() -> Iterator[float]:
    """Yield delays in seconds that grow up to a limit, with jitter so that nodes do not align."""
    delay = FIRST_DELAY_SECONDS
    while True:
        yield delay * random.uniform(0.5, 1)  # noqa: S311  # not used for a secret
        delay = min(delay * DELAY_GROWTH, LONGEST_DELAY_SECONDS)


class Runner:
    """Runs steps, each with its own time limit or the common one; see the module."""

    def __init__(
        self, timeout_seconds: float, delays: Callable[[], Iterator[float]] = back_off
    ) -> None:
        self._timeout_seconds = timeout_seconds
        self._delays = delays
        self._running: dict[str, _Running] = {}
        self._ended: SimpleQueue[tuple[_Running, Result]] = SimpleQueue()

    def run(self, steps: Sequence[Step]) -> tuple[Result, ...]:
        """Run `steps` and return their results in the order in which they ended."""
        waiting = list(steps)
        results: list[Result] = []
        while waiting or self._running:
            for step in _ready(waiting, self._running):
                waiting.remove(step)
                self._start(step)
            result = self._next_result()
            results.append(result)
            log.log(*line_of(result))
            if result.is_fatal:
                return (*results, *self._stop(), *map(_not_run, waiting))
        return tuple(results)

    def _start(self, step: Step) -> None:
        timeout_seconds = step.timeout_seconds or self._timeout_seconds
        running = _Running(step, time.monotonic(), timeout_seconds)
        self._running[step.name] = running
        # A daemon thread: a step that hangs in the kernel must not keep this program from ending.
        threading.Thread(target=self._work, args=(running,), name=step.name, daemon=True).start()

    def _work(self, running: _Running) -> None:
        """Try a step until it ends; this is the function of its thread."""
        for delay in self._delays():
            running.attempts += 1
            try:
                result = _attempt(running)
            except NotYet as error:
                _log_waiting(running, error)
                running.last = error
            else:
                self._ended.put((running, result))
                return
            if running.stopped.wait(delay):
                return

    def _next_result(self) -> Result:
        """Wait until a step ends or times out."""
        while True:
            first = min(self._running.values(), key=lambda running: running.deadline)
            remaining = first.deadline - time.monotonic()
            try:
                running, result = self._ended.get(timeout=max(0.0, remaining))
            except Empty:
                running, result = first, _timed_out(first)
            if self._running.get(running.step.name) is running:
                del self._running[running.step.name]
                return result

    def _stop(self) -> list[Result]:
        """Stop the running steps after a failure that makes them pointless."""
        stopped = []
        for running in self._running.values():
            running.stopped.set()
            stopped.append(running.result(State.NOT_RUN, "stopped: another step failed"))
        self._running.clear()
        return stopped


def _timed_out(running: _Running) -> Result:
    running.stopped.set()
    waited = f"timed out after {running.timeout_seconds:g} s"
    if running.last is None:
        fix = "look at the log of the node for what it was doing"
        return running.result(State.FAILED, f"still busy: {waited}", fix)
    return running.result(State.FAILED, f"{running.last.reason} ({waited})", running.last.fix)


def _attempt(running: _Running) -> Result:
    """Try a step once; raises NotYet if it should be tried again."""
    step = running.step
    try:
        if step.is_done():
            return running.result(State.ALREADY_DONE, "")
        return running.result(State.DONE, step.apply())
    except NotYet:
        raise
    except StepFailed as error:
        return running.result(State.FAILED, error.reason, error.fix)
    except Exception as error:
        log.exception(MISTAKE, step.name)
        return running.result(State.FAILED, *unexpected(error))


def unexpected(error: Exception) -> tuple[str, str]:
    """Return reason and fix of an unexpected error."""
    return f"unexpected {type(error).__name__}: {error}", "report it, with the log of the node"


def _ready(waiting: Sequence[Step], running: dict[str, _Running]) -> list[Step]:
    """Return the steps whose dependencies have all ended; a failed required step ends the run."""
    ahead = {step.name for step in waiting} | set(running)
    ready = [step for step in waiting if not ahead.intersection(step.needs)]
    if not ready and not running:
        names = ", ".join(sorted(step.name for step in waiting))
        raise ValueError(f"these steps need each other: {names}")
    return ready


def in_order(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield the steps in the order of their dependencies; raises ValueError for a cycle."""
    waiting = list(steps)
    while waiting:
        for step in _ready(waiting, {}):
            waiting.remove(step)
            yield step


def _not_run(step: Step) -> Result:
    detail = "another step failed"
    return Result(step.name, State.NOT_RUN, step.required, detail=detail, needs=step.needs)


def _log_waiting(running: _Running, error: NotYet) -> None:
    """Log why a step is not done yet: once per reason, and nothing after it was stopped."""
    is_news = running.last is None or running.last.reason != error.reason
    if is_news and not running.stopped.is_set():
        log.info("%s: waiting: %s", running.step.name, error.reason)


def line_of(result: Result) -> tuple[int, str]:
    """Return the log level and the line for a step that ended, or was only checked."""
    took = f" in {result.seconds:.1f} s" if result.attempts else ""
    text = f"{result.step}: {result.state.value}{took}"
    text += f": {result.detail}" if result.detail else ""
    if result.state is not State.FAILED:
        return logging.INFO, text
    level = logging.ERROR if result.required else logging.WARNING
    return level, f"{text}; fix: {result.fix}"
