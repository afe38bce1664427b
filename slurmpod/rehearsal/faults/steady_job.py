"""A job that shows losses: it writes numbered lines until it is asked to end.

It does not end by the clock, so that slow computers change nothing.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Self

from slurmpod.rehearsal import slurmctld_log
from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.watch import FaultFailed, Watch
from slurmpod.rehearsal.job_records import are_final, recorded_states
from slurmpod.rehearsal.shell import CommandFailed

_SCRIPT = """#!/bin/bash
number=0
until [ -e {flag} ]; do
    number=$((number + 1))
    echo "${{SLURM_RESTART_COUNT:-0}} $number"
    sleep 0.2
done
echo end
"""


@dataclass(frozen=True)
class SteadyJob:
    """A user's job; `folder` has its output, and the flag that ends it."""

    cluster: FaultCluster
    watch: Watch
    id: str
    folder: Path

    @classmethod
    def submit(cls, cluster: FaultCluster, watch: Watch, *options: str) -> Self:
        """Submit the job with additional options of sbatch; it is watched from then on."""
        folder = cluster.home / f"fault-{secrets.token_hex(3)}"
        cluster.user.run(["mkdir", str(folder)])
        common = [f"--partition={cluster.partition}", f"--output={folder}/out"]
        job = cluster.user.run(
            ["sbatch", "--parsable", "--open-mode=append", *common, *options],
            stdin=cls.script(cluster, folder),
        )
        submitted = cls(cluster, watch, job, folder)
        watch.jobs.append(submitted)
        return submitted

    @classmethod
    def script(cls, cluster: FaultCluster, folder: Path) -> str:
        """Return its batch script, after writing any other files to the folder."""
        del cluster
        return _SCRIPT.format(flag=folder / "end")

    @classmethod
    def start(cls, cluster: FaultCluster, watch: Watch, *options: str) -> Self:
        """Submit the job and wait until it has written something."""
        job = cls.submit(cluster, watch, *options)
        job.wait_until_it_writes()
        return job

    @property
    def state(self) -> str:
        """The job's state in slurmctld: RUNNING, PENDING, COMPLETED..."""
        return self._shows("JobState")

    @property
    def reason(self) -> str:
        """Slurm's reason why the job waits or ended."""
        return self._shows("Reason")

    @property
    def restarts(self) -> int:
        """The number of restarts by Slurm."""
        return int(self._shows("Restarts"))

    @property
    def comment(self) -> str:
        """The job's comment, written by its user or its watcher."""
        return self.cluster.user.run(["squeue", "--noheader", "--format=%k", f"--jobs={self.id}"])

    def requeued_from(self, node: str) -> str:
        """Return slurmctld.log's line when Slurm requeues the job because it lost a node."""
        return f"requeue job JobId={self.id} due to failure of node {node}"

    def wait_until_it_writes(self) -> None:
        """Wait for one more line of output."""
        before = len(self._lines())
        grown = f"job {self.id} writes"
        self.watch.until(grown, lambda: len(self._lines()) > before, wanted=True)

    def wait_until_it_runs(self) -> None:
        """Wait until it runs, without Slurm's two-minute delay for requeued jobs."""
        self.watch.until(f"job {self.id} runs", self._hurried_state, "RUNNING")
        self.wait_until_it_writes()

    def _hurried_state(self) -> str:
        if self.state == "PENDING" and not self._may_be_ended():
            with contextlib.suppress(CommandFailed):  # it has just started
                self.cluster.user.run(["scontrol", "update", f"jobid={self.id}", "starttime=now"])
        return self.state

    def _may_be_ended(self) -> bool:
        """Return whether a message for its last run can still reach the next one."""
        printed = self.cluster.user.run([slurmctld_log.MESSAGES_COMMAND])
        return slurmctld_log.messages_are_under_way(printed)

    def finish(self) -> None:
        """Let it end, and wait until Slurm reports that it completed."""
        self.cluster.user.run(["touch", str(self.folder / "end")])
        self.watch.until(f"job {self.id} ends well", lambda: self.state, "COMPLETED")

    def cancel(self) -> None:
        """Cancel the job."""
        self.cluster.user.run(["scancel", self.id])

    def losses(self) -> Iterator[str]:
        """Yield what is missing from its output or its record."""
        lines = self._lines()
        if lines[-1:] != ["end"]:
            yield f"job {self.id}: the end of its output"
        yield from self._lost_lines(lines)
        states = self._recorded_states()
        if states != ["COMPLETED"]:
            yield f"job {self.id}: its record, which says {' '.join(states) or 'nothing'}"

    def _lost_lines(self, lines: Sequence[str]) -> Iterator[str]:
        for restart in range(self.restarts + 1):
            numbers = [int(line.split()[1]) for line in lines if line.startswith(f"{restart} ")]
            if any(after != before + 1 for before, after in pairwise([0, *numbers])):
                yield f"job {self.id}: lines of its output"

    def _recorded_states(self) -> list[str]:
        """Return the state in its record, once it is final; a late record counts as a loss."""

        def states() -> list[str]:
            return recorded_states(self.cluster.user, f"--jobs={self.id}")

        with contextlib.suppress(FaultFailed):
            known = f"the record of job {self.id} says how it ended"
            self.watch.until(known, lambda: are_final(states()), wanted=True)
        return states()

    def _lines(self) -> list[str]:
        return self.cluster.user.run(["sh", "-c", f"cat {self.folder}/out || true"]).splitlines()

    def _shows(self, field: str) -> str:
        shown = self.cluster.user.run(["scontrol", "--oneliner", "show", "job", self.id])
        words = (word.partition("=") for word in shown.split())
        return next(value for name, _, value in words if name == field)
