"""A user's first actions on a new cluster: list the nodes, run a job, read its record."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass

from slurmpod.environment.cluster import Role
from slurmpod.environment.lustre import Lustre
from slurmpod.environment.storage import OpenZfs
from slurmpod.rehearsal.job_records import UNFINISHED, are_final, recorded_states
from slurmpod.rehearsal.shell import CommandFailed, Shell
from slurmpod.resolve import Resolved, ResolvedGroup

IDLE_TIMEOUT_SECONDS = 120
JOB_TIMEOUT_SECONDS = 120
ALLOCATION_SECONDS = 60
"""How often a waiting srun requests resources by itself (docs/slurm.md)."""

RECORD_TIMEOUT_SECONDS = 60
POLL_SECONDS = 0.2
NAME = "first-job"
SACCT_FIELDS = "JobID%8,JobName%10,Partition%9,NNodes%6,NodeList%33,State%9,ExitCode%8"

_TASK = (
    'echo "task $SLURM_PROCID of $SLURM_NTASKS runs on $(hostname)'
    ' and sees $(df --output=target {folder} | tail -1)"'
)
_JOB = f"""#!/bin/bash
#SBATCH --job-name={NAME}
srun bash -c '{_TASK}'
"""


@dataclass(frozen=True)
class FirstJob:
    """The results of the first job; without a record, `no_record` gives the reason."""

    sinfo: str
    output: str
    sacct: str
    no_record: str = ""


def wait_until_idle(shell: Shell) -> str:
    """Wait until `sinfo` shows every node idle, and return its output."""
    deadline = time.monotonic() + IDLE_TIMEOUT_SECONDS
    while True:
        states = set(shell.run(["sinfo", "--noheader", "--Node", "--format=%T"]).split())
        if states == {"idle"}:
            return shell.run(["sinfo"])
        if time.monotonic() > deadline:
            raise CommandFailed(f"not all nodes became idle:\n{shell.run(['sinfo', '--Node'])}")
        time.sleep(POLL_SECONDS)


def run_first_job(shell: Shell, resolved: Resolved) -> FirstJob | None:
    """Submit a job on two nodes from `shell`, wait for it and collect what a user would check.

    Return None for a cluster without workers.
    """
    group = workers_of(resolved)
    if group.count == 0:
        return None
    sinfo = wait_until_idle(shell)
    options = [
        f"--nodes={min(2, group.count)}",
        "--ntasks-per-node=1",
        f"--partition={group.partition}",
        *_gpus_of(group, resolved),
    ]
    folder = shared_folder(resolved)
    output = _submit(shell, options, folder) if folder else _run_directly(shell, options)
    return FirstJob(sinfo, output, *_record(shell, resolved))


def _gpus_of(group: ResolvedGroup, resolved: Resolved) -> list[str]:
    """Return the options that request all GPUs of a node; the user's scripts may declare none."""
    types = [facts for facts in group.facts_of_types if facts]
    if resolved.lifecycle.own_scripts or {each.accelerator_kind for each in types} != {"gpu"}:
        return []
    return [f"--gpus-per-node={min(each.accelerator_count for each in types)}"]


def _submit(shell: Shell, options: list[str], folder: str) -> str:
    """Submit the job as users do, and return its output from the shared folder."""
    home = f"{folder}/{shell.user}"
    job = shell.run(
        ["sbatch", "--parsable", *options, f"--output={home}/%x-%j.out"],
        stdin=_JOB.format(folder=shlex.quote(folder)),
    )
    _wait_until_ended(shell, job)
    return shell.run(["cat", f"{home}/{NAME}-{job}.out"])


def _run_directly(shell: Shell, options: list[str]) -> str:
    """Run the job if users have no shared folder: srun returns its output."""
    task = _TASK.format(folder="/")
    patience = f"--immediate={ALLOCATION_SECONDS}"
    return shell.run(["srun", f"--job-name={NAME}", patience, *options, "bash", "-c", task])


NO_ACCOUNTING = "the environment says 'slurm: {accounting: false}'"


def _record(shell: Shell, resolved: Resolved) -> tuple[str, str]:
    """Return the job's record, or why it has none: the user's own scripts may keep none."""
    if not resolved.slurm.accounting:
        return "", NO_ACCOUNTING
    try:
        _wait_until_recorded(shell)
        return shell.run(["sacct", f"--name={NAME}", f"--format={SACCT_FIELDS}"]), ""
    except CommandFailed as failure:
        if resolved.lifecycle.own_scripts:
            return "", str(failure)
        raise


def _wait_until_recorded(shell: Shell) -> None:
    """Wait until the record has the job's final state; a late one is shown unfinished."""
    deadline = time.monotonic() + RECORD_TIMEOUT_SECONDS
    while not are_final(recorded_states(shell, f"--name={NAME}")) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)


def shared_folder(resolved: Resolved) -> str | None:
    """Return the users' folder: on the first new file system that has one for users."""
    settings: list[Lustre | OpenZfs] = [each.settings for each in resolved.lustre]
    if resolved.openzfs:
        settings.append(resolved.openzfs.settings)
    return next((each.mount_path for each in settings if not each.existing), None)


def _wait_until_ended(shell: Shell, job: str) -> None:
    """Wait until a job has completed; `sbatch --wait` would poll only every ten seconds."""
    deadline = time.monotonic() + JOB_TIMEOUT_SECONDS
    while True:
        description = shell.run(["scontrol", "--oneliner", "show", "job", job])
        if "JobState=COMPLETED" in description:
            return
        is_over = not any(f"JobState={state}" in description for state in UNFINISHED)
        if is_over or time.monotonic() > deadline:
            raise CommandFailed(f"the first job did not complete:\n{description}")
        time.sleep(POLL_SECONDS)


def workers_of(resolved: Resolved) -> ResolvedGroup:
    """Return the worker group for the job: the largest."""
    return max(resolved.groups_with(Role.WORKER), key=lambda group: group.count)
