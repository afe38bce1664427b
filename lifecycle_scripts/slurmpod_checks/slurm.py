"""Slurm as the rounds use it: nodes, the queue and the check jobs."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from slurmpod_health.node_state import NodeState, read_state

FOLDER = "/opt/slurm/bin"
SECONDS = 60
NAME = "slurmpod-check"
PROGRAM = "/usr/local/lib/slurmpod-checks/on-node"
"""The batch script, written by the lifecycle scripts."""

COLUMNS = 7
NICE = 1_000_000
"""The lowest priority: a check runs after everything else that is waiting."""

IDLE = frozenset({"IDLE", "CLOUD", "DYNAMIC_NORM"})
"""The state words of a node without work, present or planned."""

WAITS_FOR_NODES = frozenset({"Resources", "Priority", "None"})
GOES_ON = frozenset({"PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED"})


class SlurmFailed(Exception):
    """A Slurm command that failed; the text is its last message."""


@dataclass(frozen=True)
class Job:
    """A line of the queue; `comment` holds a check's result."""

    id: str
    user: str
    name: str
    state: str
    reason: str
    partitions: frozenset[str]
    comment: str

    @property
    def is_check(self) -> bool:
        """Whether it is a check."""
        return self.user == "root" and self.name == NAME

    @property
    def waits_for_nodes(self) -> bool:
        """Whether it is a user's job that would run if nodes were free."""
        return (
            not self.is_check
            and self.state == "PENDING"
            and self.reason.partition(",")[0] in WAITS_FOR_NODES
        )

    def result(self) -> dict[str, Any] | None:
        """Return the check's result, or None if it left none or an incomplete one."""
        try:
            found = json.loads(zlib.decompress(base64.b64decode(self.comment, validate=True)))
        except (ValueError, zlib.error):
            return None
        return found if isinstance(found, dict) else None


class Slurm:
    """The controller's own Slurm; tests pass another one."""

    def nodes(self) -> list[NodeState]:
        """Return all nodes; raises SlurmFailed."""
        lines = self.run("scontrol", "--oneliner", "show", "node").splitlines()
        return [state for line in lines if (state := read_state(line))]

    def jobs(self) -> list[Job]:
        """Return all jobs that Slurm still knows; raises SlurmFailed."""
        columns = "--format=%i|%u|%T|%P|%r|%k|%j"
        lines = self.run("squeue", "--noheader", "--all", "--states=all", columns).splitlines()
        return [read_job(line) for line in lines if line.count("|") >= COLUMNS - 1]

    def submit(self, nodes: Sequence[str], partition: str, minutes: int, order: str) -> str:
        """Submit a check of these nodes and return its number; raises SlurmFailed."""
        return self.run(
            "sbatch",
            "--parsable",
            f"--job-name={NAME}",
            f"--partition={partition}",
            f"--nodelist={','.join(nodes)}",
            f"--nodes={len(nodes)}",
            "--ntasks-per-node=1",
            "--exclusive",
            "--mem=0",
            f"--nice={NICE}",
            f"--time={minutes}",
            "--no-requeue",
            "--chdir=/",
            "--output=/dev/null",
            PROGRAM,
            order,
        ).split(";")[0]

    def cancel(self, *jobs: str) -> None:
        """End jobs; raises SlurmFailed."""
        if jobs:
            self.run("scancel", *jobs)

    def update(self, node: str, *changes: str) -> None:
        """Change a node; raises SlurmFailed."""
        self.run("scontrol", "update", f"nodename={node}", *changes)

    def acts_here(self, host: str) -> bool:
        """Return whether this is the active one of several controllers; raises SlurmFailed."""
        said = self.run("scontrol", "ping")
        if said.count("Slurmctld(") < 2:
            return True
        up = re.search(r" at (\S+) is UP", said)
        return up is not None and up[1] == host

    def run(self, command: str, *words: str) -> str:
        """Return the output of a Slurm command; raises SlurmFailed."""
        try:
            ended = subprocess.run(
                (f"{FOLDER}/{command}", *words),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SlurmFailed(f"{command}: {error}") from None
        if ended.returncode:
            said = (ended.stderr.strip() or ended.stdout.strip()).splitlines()[-1:]
            raise SlurmFailed(f"{command}: {''.join(said)}")
        return ended.stdout.strip()


def read_job(line: str) -> Job:
    """Read a line of the queue; only the job's name, the last field, may contain the separator."""
    number, user, state, partitions, reason, comment, name = line.strip().split("|", COLUMNS - 1)
    return Job(number, user, name, state, reason, frozenset(partitions.split(",")), comment)
