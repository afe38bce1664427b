"""Whether nodes can ever satisfy a job's request: Slurm's refusals and endless waits. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slurmpod.operations.why.job_facts import JobNow, Shape
from slurmpod.operations.why.story import Cause

_NO_NODES = re.compile(
    r"(?:No nodes satisfy \S+ requirements|never runnable) in partition (?P<partition>\S+)"
)
"""slurmctld logs either line when it fails a job."""


def refused(job: JobNow) -> Iterator[Cause]:
    """Yield why it never began: no node can ever satisfy it, or the reason is lost."""
    if job.state != "FAILED" or job.has_begun:
        return
    said = next((found for line in job.log if (found := _NO_NODES.search(line))), None)
    if said is None and "BadConstraints" not in job.reason:
        yield Cause(
            "it failed before it began: it never had a node",
            "see why: slurmpod logs ENV --job JOB --kind slurm",
        )
        return
    if lacking := too_few_nodes(job):
        yield Cause(
            f"it never started: {lacking}",
            "ask for fewer nodes and submit it again, or add nodes: slurmpod scale ENV GROUP COUNT",
        )
        return
    where = said["partition"] if said else job.partition
    yield Cause(
        f"it never started: no node of {where} can satisfy what it asks for ({job.asks_for}"
        f"{_largest(job.shapes)})",
        "ask for less, or for another partition, and submit it again: `sinfo` on a login node shows"
        " what there is",
    )


def _largest(shapes: tuple[Shape, ...]) -> str:
    if not shapes:
        return ""
    largest = max(shapes, key=lambda shape: (shape.memory_mib, shape.cpus))
    nodes = sum(shape.count for shape in shapes)
    return (
        f"; its {nodes} nodes have up to {max(shape.cpus for shape in shapes)} CPUs and "
        f"{largest.memory_mib} MiB"
    )


def too_few_nodes(job: JobNow) -> str:
    """Return that a partition has fewer nodes than the job requests, if so.

    Slurm 26.05 keeps such a job waiting (PartitionConfig at first, PartitionNodeLimit later); 24.11
    waits for Resources, or ends it with the words for other constraints.
    """
    asked = re.search(r"\bnode=(\d+)", job.asks_for)
    there = sum(shape.count for shape in job.shapes)
    if asked and job.shapes and int(asked[1]) > there:
        return f"it asks for {asked[1]} nodes, and {job.partition} has {there}"
    return ""
