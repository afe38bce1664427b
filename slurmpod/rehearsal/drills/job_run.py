"""One run of a user's job on a rehearsed cluster, followed from outside until it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from slurmpod.operations.cluster_jobs import Sight, UnknownJob, look, news
from slurmpod.operations.node_shell import CommandFailed
from slurmpod.rehearsal import shell
from slurmpod.rehearsal.drills.losses import PrintedLosses, printed_losses
from slurmpod.rehearsal.faults.watch import FaultFailed, Teller
from slurmpod.rehearsal.shell import Shell

POLL_SECONDS = 0.5


@dataclass(frozen=True)
class RehearsedShell:
    """A session on a rehearsed node, with the interface that code for real clusters expects."""

    shell: Shell

    def run(self, script: str) -> str:
        """Run a bash script and return its output; raises CommandFailed."""
        try:
            return f"{self.shell.run(['bash', '-c', script])}\n"
        except shell.CommandFailed as failure:
            raise CommandFailed(str(failure)) from None


@dataclass
class JobRun:
    """A job as last observed; `seconds` count from when it was first seen running."""

    shell: RehearsedShell
    id: str
    teller: Teller
    sight: Sight | None = None
    _log: list[bytes] = field(default_factory=list)
    _started: float | None = None
    _ended: float | None = None

    @property
    def log(self) -> str:
        """The job's output so far."""
        return b"".join(self._log).decode(errors="replace")

    @property
    def losses(self) -> PrintedLosses:
        """The losses in the job's log."""
        return printed_losses(self.log)

    @property
    def state(self) -> str:
        """Slurm's state of the job; empty before it was first seen."""
        return self.sight.state if self.sight else ""

    @property
    def has_ended(self) -> bool:
        """Whether the job has ended and its whole output has been read."""
        return bool(self.sight and self.sight.has_ended and self.sight.is_read)

    @property
    def restarts(self) -> int:
        """The number of restarts by Slurm."""
        return self.sight.restarts if self.sight else 0

    @property
    def seconds(self) -> float:
        """The job's duration in seconds, including restarts and the waits for them."""
        if self._started is None:
            return 0.0
        return self.ended_at - self._started

    @property
    def ended_at(self) -> float:
        """When the job was seen to have ended, in seconds of time.monotonic()."""
        return self._ended or time.monotonic()

    def look(self) -> None:
        """Update the job's state and log; an unreachable controller changes nothing."""
        try:
            now = look(self.shell, self.id, self.sight)
        except UnknownJob:
            return
        for line in news(self.sight, now):
            self.teller.note(f"  job {self.id}: {line}")
        self._log.append(now.log)
        self.sight = now
        if self._started is None and now.state == "RUNNING":
            self._started = time.monotonic()
        if self.has_ended and self._ended is None:
            self._started = self._started or time.monotonic()
            self._ended = time.monotonic()

    def require_patience(self, waited: float, patience_seconds: float | None, what: str) -> None:
        """Raise FaultFailed if the job should have ended by now."""
        if patience_seconds is not None and waited > patience_seconds:
            raise FaultFailed(
                f"{what}: job {self.id} is still {self.state} after {waited:.0f} s; "
                f"its log ends with:\n{self._last_lines()}"
            )

    def description(self) -> str:
        """Return a short description of the job's state and progress."""
        return f"job {self.id} {self.state.lower()}{self._progress()}"

    def _progress(self) -> str:
        last = self.losses.last_step
        return f", at step {last}" if last else ""

    def _last_lines(self) -> str:
        return "\n".join(self.log.splitlines()[-10:])


def follow(
    runs: Sequence[JobRun],
    what: str,
    *,
    until: Callable[[], bool] = lambda: False,
    patience_seconds: float | None = None,
) -> None:
    """Observe jobs until all have ended or `until` holds; FaultFailed when patience runs out."""
    began = time.monotonic()
    while True:
        for run in runs:
            run.look()
        waiting = [run for run in runs if not run.has_ended]
        if not waiting or until():
            return
        waited = time.monotonic() - began
        for run in waiting:
            run.require_patience(waited, patience_seconds, what)
        descriptions = ", ".join(run.description() for run in waiting)
        waiting[0].teller.now(f"{what}, for {waited:.0f} s: {descriptions}")
        time.sleep(POLL_SECONDS)
