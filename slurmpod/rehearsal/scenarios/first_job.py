"""The first thing a user does on a new cluster: look at its nodes, run a job, read the records."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slurmpod.model.cluster import Role
from slurmpod.rehearsal.shell import CommandFailed

if TYPE_CHECKING:
    from slurmpod.rehearsal.shell import Shell
    from slurmpod.resolve import Resolved, ResolvedGroup

IDLE_TIMEOUT_SECONDS = 120
JOB_TIMEOUT_SECONDS = 120
POLL_SECONDS = 0.2
UNFINISHED = ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING")
SACCT_FIELDS = "JobID%8,JobName%10,Partition%9,NNodes%6,NodeList%33,State%9,ExitCode%8"

_JOB = """#!/bin/bash
#SBATCH --job-name=first-job
srun bash -c 'echo "task $SLURM_PROCID of $SLURM_NTASKS runs on $(hostname) and sees $(df --output=target {mount_path} | tail -1)"'
"""  # noqa: E501  # one line of the job's script


@dataclass(frozen=True)
class FirstJob:
    """What the cluster showed; `sacct` is empty without accounting."""

    sinfo: str
    output: str
    sacct: str


def wait_until_idle(shell: Shell) -> str:
    """Wait until `sinfo` shows every node idle and return what it prints then."""
    deadline = time.monotonic() + IDLE_TIMEOUT_SECONDS
    while True:
        states = set(shell.run(["sinfo", "--noheader", "--Node", "--format=%T"]).split())
        if states == {"idle"}:
            return shell.run(["sinfo"])
        if time.monotonic() > deadline:
            raise CommandFailed(f"not all nodes became idle:\n{shell.run(['sinfo', '--Node'])}")
        time.sleep(POLL_SECONDS)


def run_first_job(shell: Shell, resolved: Resolved) -> FirstJob | None:
    """Submit a job of two nodes from `shell`, wait for it and collect what a user would look at.

    Returns None for a cluster that has no workers yet.
    """
    group = _workers(resolved)
    if group.count == 0:
        return None
    sinfo = wait_until_idle(shell)
    home = f"{resolved.file_system.mount_path}/{shell.user}"
    job = shell.run(
        [
            "sbatch",
            "--parsable",
            f"--nodes={min(2, group.count)}",
            "--ntasks-per-node=1",
            f"--partition={group.partition}",
            f"--output={home}/%x-%j.out",
        ],
        stdin=_JOB.format(mount_path=shlex.quote(resolved.file_system.mount_path)),
    )
    _wait_until_ended(shell, job)
    output = shell.run(["cat", f"{home}/first-job-{job}.out"])
    sacct = ""
    if resolved.accounting:
        sacct = shell.run(["sacct", f"--jobs={job}", f"--format={SACCT_FIELDS}"])
    return FirstJob(sinfo, output, sacct)


def _wait_until_ended(shell: Shell, job: str) -> None:
    """Wait until a job has ended well; `sbatch --wait` would ask only every ten seconds."""
    deadline = time.monotonic() + JOB_TIMEOUT_SECONDS
    while True:
        description = shell.run(["scontrol", "--oneliner", "show", "job", job])
        if "JobState=COMPLETED" in description:
            return
        is_over = not any(f"JobState={state}" in description for state in UNFINISHED)
        if is_over or time.monotonic() > deadline:
            raise CommandFailed(f"the first job did not complete:\n{description}")
        time.sleep(POLL_SECONDS)


def _workers(resolved: Resolved) -> ResolvedGroup:
    """Return the worker group that the job runs on: the largest."""
    return max(resolved.groups_with(Role.WORKER), key=lambda group: group.count)
