"""Slurm's view of a cluster: node states, jobs and file systems, from one query to a controller.

Slurm groups equal nodes itself, so that 5,000 of them are a few lines.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from slurmpod.operations.idle_checks import CheckSummary, read_summary, summary_command
from slurmpod.operations.questions import as_root, question
from slurmpod.slurm.gpus import HeldGpus, held, read_held
from slurmpod.slurm.hostlist import expanded
from slurmpod.slurm.nodes import SlurmNode, is_of_sinfo, read_sinfo, sinfo
from slurmpod.slurm.queue import QueuedJob, read_queue, squeue

NODES, JOBS, FOLDERS, SLURM, SYSTEM = "nodes", "jobs", "folders", "slurm", "system"
CHECKS, GPUS = "checks", "gpus"
SECONDS = 20
"""Timeout of one command: without slurmctld Slurm's commands retry."""

FOLDER_SECONDS = 5
"""How long a file system may take to answer; one that is gone never does."""

_FIELD = "|"


@dataclass(frozen=True)
class Fill:
    """A file system from `df`; `size_bytes` is None if it did not answer in time."""

    path: str
    size_bytes: int | None
    used_bytes: int | None


@dataclass(frozen=True)
class Overview:
    """A controller's answer; `failure` is Slurm's message if slurmctld did not answer.

    `gpus` are the GPUs that jobs hold, None if unknown or not requested; `checks` is
    None if idle nodes are not checked.
    """

    nodes: Mapping[str, SlurmNode]
    jobs: tuple[QueuedJob, ...]
    gpus: tuple[HeldGpus, ...] | None
    fills: tuple[Fill, ...]
    version: str
    system: str
    failure: str
    checks: CheckSummary | None


def size_text(count: float) -> str:
    """Return a number of bytes with a unit that leaves few digits."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            break
        count /= 1024
    return f"{count:.0f} {unit}" if count >= 10 or unit == "B" else f"{count:.1f} {unit}"


def view_command(folders: Sequence[str], *, checks: bool, gpus: bool) -> str:
    """Return the command for a controller's shell; read-only."""
    system = '. /etc/os-release; echo "$PRETTY_NAME, kernel $(uname -r)"'
    return as_root(
        "PATH=/opt/slurm/bin:$PATH\n"
        + question(SLURM, "sinfo --version")
        + question(SYSTEM, system)
        + question(NODES, f"timeout {SECONDS} {sinfo()} 2>&1")
        + question(JOBS, f"timeout {SECONDS} {squeue('--all')} 2>&1")
        + (question(GPUS, f"timeout {SECONDS} {held()}") if gpus else "")
        + (question(CHECKS, summary_command()) if checks else "")
        + question(FOLDERS, "\n".join(map(_df, folders)) or "true")
    )


def read_view(answers: Mapping[str, str]) -> Overview:
    """Read the output of `view_command`."""
    lines = answers[NODES].splitlines()
    said = [line for line in lines if line.strip() and not is_of_sinfo(line)]
    jobs = read_queue(answers[JOBS])
    return Overview(
        nodes=read_sinfo(answers[NODES]),
        jobs=jobs,
        gpus=_of_jobs(jobs, read_held(answers[GPUS])) if GPUS in answers else None,
        fills=tuple(_fills(answers[FOLDERS].splitlines())),
        version=answers[SLURM].strip(),
        system=answers[SYSTEM].strip(),
        failure=said[-1].strip() if said else "",
        checks=read_summary(answers[CHECKS]) if CHECKS in answers else None,
    )


def _of_jobs(
    jobs: Sequence[QueuedJob], found: Sequence[HeldGpus] | None
) -> tuple[HeldGpus, ...] | None:
    """Return the GPUs of jobs that squeue lists: other lines may come from users' text."""
    if found is None:
        return None
    wanted = {each.job for each in found}
    nodes = {job.id: set(expanded(job.nodes)) for job in jobs if job.id in wanted}
    return tuple(
        each for each in found if nodes.get(each.job, set()).issuperset(expanded(each.nodes))
    )


def _df(folder: str) -> str:
    path = shlex.quote(folder)
    df = f"timeout {FOLDER_SECONDS} df --block-size=1 --output=size,used {path} 2>/dev/null"
    return f'echo {path}"|$({df} | tail -n 1)"'


def _fills(lines: Sequence[str]) -> Iterator[Fill]:
    for line in lines:
        path, _, sizes = line.partition(_FIELD)
        size, used = (*sizes.split(), "", "")[:2]
        if size.isdecimal() and used.isdecimal():
            yield Fill(path, int(size), int(used))
        elif path:
            yield Fill(path, None, None)
