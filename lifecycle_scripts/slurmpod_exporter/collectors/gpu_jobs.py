"""Which job holds which GPU, as the controller has it.

No Prolog writes it down on the nodes: Slurm runs one when the first step of a job begins on a node,
and what `salloc` holds without a step is what people look for. PrologFlags=Alloc would change that,
and `srun --auto-resume=1` refuses it.

`scontrol show job` has texts of users among its lines, which may hold ends of lines. So a line
counts where squeue, whose columns have no such text, has the job on that node; the user is
squeue's. A label `job` would not arrive: Prometheus calls so what it collects from.

Slurm numbers GPUs as gres.conf does, by device files (/dev/nvidia[0-7]), and gives the numbers to
jobs in CUDA_VISIBLE_DEVICES; CUDA and nvidia-smi count in one order where all GPUs are alike.
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
"""What a job holds on one node, or on each of several that are alike."""

GPUS = re.compile(r"(?:^|,)gpu(?::[^:(,]+)?:[0-9]+\(IDX:([0-9,-]+)\)")
NAMES = re.compile(r"([^\[,]+)(?:\[([^\]]+)\])?")


class _Job(NamedTuple):
    """A job that has nodes; `id` is how squeue shows it, such as 4711_3."""

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
    """Return the jobs that have nodes by their number, which the tasks of an array do not share."""
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
    """Yield the numbers of `0-2,5`, all as long as the first of their range."""
    for each in filter(None, ranges.split(",")):
        first, _, last = each.partition("-")
        for number in range(int(first), int(last or first) + 1):
            yield f"{number:0{len(first)}d}"


GPU_JOBS = Collector("gpu_jobs", lambda host: host.is_controller, _held)
