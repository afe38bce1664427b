"""GPUs by job, as the controller knows them.

A Prolog on the nodes would not work: Slurm runs it when a job's first step starts on a node, and
GPUs that `salloc` holds without a step are exactly what administrators look for. PrologFlags=Alloc
would change that, but `srun --auto-resume=1` rejects it.

The output of `scontrol show job` includes users' texts, which may contain line breaks. So a line
counts only if squeue, whose columns have no such text, also has the job on that node; the user
comes from squeue. A label `job` would be overwritten: Prometheus uses that name for its scrape
targets.

Slurm numbers GPUs as gres.conf does, by device files (/dev/nvidia[0-7]), and passes the numbers to
jobs in CUDA_VISIBLE_DEVICES. CUDA and nvidia-smi count in the same order if all GPUs are alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from slurmpod_exporter.collector import SLURM_COMMANDS, Collector, Host
from slurmpod_exporter.exposition import Sample

SQUEUE = (
    f"{SLURM_COMMANDS}/squeue",
    "--noheader",
    "--all",
    "--states=RUNNING,SUSPENDED,COMPLETING,CONFIGURING,STOPPED",
    "--format=%A|%i|%u|%N",
)
SHOW_JOBS = (f"{SLURM_COMMANDS}/scontrol", "--all", "--details", "show", "job")
JOB = re.compile(r"JobId=([0-9]+) ")
HELD = re.compile(r" +Nodes=(\S+) CPU_IDs=\S* Mem=[0-9]+ GRES=(\S+)")
"""A job's resources on one node, or on each of several identical ones."""

GPUS = re.compile(r"(?:^|,)gpu(?::[^:(,]+)?:[0-9]+\(IDX:([0-9,-]+)\)")
NAMES = re.compile(r"([^\[,]+)(?:\[([^\]]+)\])?")


class _Job(NamedTuple):
    """A job with nodes; `id` is its form in squeue, such as 4711_3."""

    id: str
    user: str
    nodes: frozenset[str]


def _held(host: Host) -> Iterator[Sample]:
    jobs = _jobs(host)
    if not jobs:
        return
    job = None
    for line in host.run(*SHOW_JOBS).splitlines():
        if begin := JOB.match(line):
            job = jobs.get(begin[1])
        elif job and (held := HELD.fullmatch(line)):
            yield from _samples(job, held[1], held[2])


def _jobs(host: Host) -> dict[str, _Job]:
    """Return the running jobs by job number, which is unique for each array task."""
    rows = [line.strip().split("|") for line in host.run(*SQUEUE).splitlines()]
    return {
        number: _Job(shown, user, frozenset(_names(nodes)))
        for number, shown, user, nodes in (row for row in rows if len(row) == 4)
    }


def _samples(job: _Job, hostlist: str, gres: str) -> Iterator[Sample]:
    numbers = [number for indices in GPUS.findall(gres) for number in _numbers(indices)]
    for node in _names(hostlist):
        for number in numbers if node in job.nodes else ():
            labels = {"node": node, "gpu": number, "slurm_job": job.id, "user": job.user}
            yield Sample("slurmpod_gpu_job", labels, 1)


def _names(hostlist: str) -> Iterator[str]:
    for name, ranges in NAMES.findall(hostlist):
        yield from (f"{name}{number}" for number in _numbers(ranges)) if ranges else (name,)


def _numbers(ranges: str) -> Iterator[str]:
    """Yield the numbers of `0-2,5`, zero-padded to the width of the range's first one."""
    for each in filter(None, ranges.split(",")):
        first, _, last = each.partition("-")
        for number in range(int(first), int(last or first) + 1):
            yield f"{number:0{len(first)}d}"


GPU_JOBS = Collector("gpu_jobs", lambda host: host.is_controller, _held)
