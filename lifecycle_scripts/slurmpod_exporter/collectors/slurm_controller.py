"""Slurm from the controller's commands: slurmctld itself, the nodes and the queue."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from slurmpod_exporter.collector import SLURM_COMMANDS, Collector, CollectorFailed, Host
from slurmpod_exporter.exposition import Sample

MICROSECOND = 1e-6
STATISTICS = (
    ("Jobs started", "slurmpod_slurm_jobs_started", 1.0),
    ("Jobs failed", "slurmpod_slurm_jobs_failed", 1.0),
    ("Last cycle", "slurmpod_slurm_cycle_seconds", MICROSECOND),
    ("Server thread count", "slurmpod_slurm_server_threads", 1.0),
    ("Agent queue size", "slurmpod_slurm_agent_queue", 1.0),
    ("DBD Agent queue size", "slurmpod_slurm_dbd_queue", 1.0),
)
"""Names in sdiag; of several lines with one name the first counts, the main scheduler's."""

NODE_FIELDS = ("NodeHost", "PartitionName", "StateLong", "CPUsState", "Gres", "GresUsed")
CPU_USES = ("allocated", "idle", "other")
"""The first three fields of `CPUsState`: allocated/idle/other/total (sinfo(1))."""

MARKS = {"*": "not_responding", "~": "powered_off", "%": "powered_off", "#": "powering_up"}
"""The meaning of a suffix of a state (sinfo(1), NODE STATE CODES); others matter little."""

GPUS = re.compile(r"(?:^|,)gpu(?::[^,:(]+)?:([0-9]+)")
WAITS_FOR_NODES = {"Resources", "Priority", "None"}
"""Reasons of jobs that start as soon as nodes are free (squeue(1), JOB REASON CODES)."""


def _scheduler(host: Host) -> Iterator[Sample]:
    is_up = _answers(host)
    yield Sample("slurmpod_slurmctld_up", {}, float(is_up))
    if not is_up:
        return
    said = host.run(f"{SLURM_COMMANDS}/sdiag")
    for title, name, unit in STATISTICS:
        if match := re.search(rf"^\s*{title}:\s*([0-9]+)", said, re.MULTILINE):
            yield Sample(name, {}, int(match[1]) * unit)


def _answers(host: Host) -> bool:
    try:
        return " is UP" in host.run(f"{SLURM_COMMANDS}/scontrol", "ping")
    except CollectorFailed:
        return False


SLURM_SCHEDULER = Collector("slurm_scheduler", lambda host: host.is_controller, _scheduler)


class _Node(NamedTuple):
    name: str
    partition: str
    state: str
    cpus: str
    gpus: int
    gpus_allocated: int


def _nodes(host: Host) -> Iterator[Sample]:
    shown = ",".join(f"{field}:|" for field in NODE_FIELDS)
    lines = host.run(f"{SLURM_COMMANDS}/sinfo", "--noheader", "--Node", f"--Format={shown}")
    rows = [_node(line) for line in lines.splitlines() if line.strip()]
    for (partition, state), count in sorted(Counter((r.partition, r.state) for r in rows).items()):
        labels = {"partition": partition, "state": state}
        yield Sample("slurmpod_slurm_partition_nodes", labels, count)
    for row in {row.name: row for row in rows}.values():  # a node is in several partitions
        yield from _samples(row)


def _node(line: str) -> _Node:
    name, partition, state, cpus, gres, used = (word.strip() for word in line.split("|")[:6])
    return _Node(name, partition.rstrip("*"), plain_state(state), cpus, _gpus(gres), _gpus(used))


def _samples(node: _Node) -> Iterator[Sample]:
    of_node = {"node": node.name}
    yield Sample("slurmpod_slurm_node_state", {**of_node, "state": node.state}, 1)
    for use, count in zip(CPU_USES, node.cpus.split("/"), strict=False):
        yield Sample("slurmpod_slurm_node_cpus", {**of_node, "use": use}, float(count))
    if node.gpus:
        yield Sample("slurmpod_slurm_node_gpus", {**of_node, "use": "all"}, node.gpus)
        allocated = {**of_node, "use": "allocated"}
        yield Sample("slurmpod_slurm_node_gpus", allocated, node.gpus_allocated)


def plain_state(shown: str) -> str:
    """Return a state without suffix: `down` for a down node, else the suffix's meaning."""
    state = shown.rstrip("".join({*MARKS, "@", "^", "!", "$", "-"}))
    mark = MARKS.get(shown[len(state) : len(state) + 1], "")
    return mark if mark and state not in {"down", "drained", "draining"} else state


def _gpus(gres: str) -> int:
    """Add up the GPUs of `gpu:8(S:0-1)`, `gpu:h100:8(IDX:0-7)` and similar."""
    return sum(map(int, GPUS.findall(re.sub(r"\([^)]*\)", "", gres))))


SLURM_NODES = Collector("slurm_nodes", lambda host: host.is_controller, _nodes)


class _Job(NamedTuple):
    partition: str
    state: str
    reason: str
    submitted: str


def _jobs(host: Host) -> Iterator[Sample]:
    shown = "--format=%P|%T|%r|%V"
    lines = host.run(f"{SLURM_COMMANDS}/squeue", "--noheader", "--all", shown).splitlines()
    jobs = [_job(line) for line in lines if line.strip()]
    for (partition, state), count in sorted(Counter((j.partition, j.state) for j in jobs).items()):
        yield Sample("slurmpod_slurm_jobs", {"partition": partition, "state": state}, count)
    waiting = [job for job in jobs if job.state == "pending"]
    for (partition, reason), count in sorted(
        Counter((job.partition, job.reason) for job in waiting).items()
    ):
        labels = {"partition": partition, "reason": reason}
        yield Sample("slurmpod_slurm_pending_jobs", labels, count)
    yield from _longest_waits(waiting, host.now())


def _longest_waits(waiting: list[_Job], now: float) -> Iterator[Sample]:
    since: dict[str, float] = {}
    for job in waiting:
        if job.reason in WAITS_FOR_NODES:
            submitted = time.mktime(time.strptime(job.submitted, "%Y-%m-%dT%H:%M:%S"))
            since[job.partition] = min(since.get(job.partition, now), submitted)
    for partition, first in sorted(since.items()):
        labels = {"partition": partition}
        yield Sample("slurmpod_slurm_longest_wait_seconds", labels, max(0.0, now - first))


def _job(line: str) -> _Job:
    """Read a line; a job submitted to several partitions counts for the first."""
    partitions, state, reason, submitted = line.strip().split("|")
    return _Job(partitions.split(",")[0], state.lower(), reason.split(",")[0], submitted)


SLURM_JOBS = Collector("slurm_jobs", lambda host: host.is_controller, _jobs)
