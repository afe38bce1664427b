"""Creation of a cluster until all workers are idle: with our lifecycle scripts, and without.

Both sides have the same nodes, image, munge key and slurm.conf, and alternate.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from benchmarks.clusters import bare_slurm, make, our_scripts, reports, upload
from benchmarks.measure import Row
from slurmpod.rehearsal.nodes.sandbox import Door
from tests.nodes.hyperpod_lab import HyperPodLab

RUNS = {2: 3, 16: 3, 64: 1}
"""The number of clusters per side, by number of workers."""


@dataclass(frozen=True)
class BringUp:
    """The creation of one cluster: its seconds, outgoing connections, and seconds of steps."""

    seconds: float
    connections: int
    steps: Mapping[str, Sequence[float]]


def bring_up_rows(lab: HyperPodLab, runs: Mapping[int, int] = RUNS) -> Iterable[Row]:
    """Create clusters of every size, alternating with and without our scripts."""
    largest = max(runs)
    for workers in runs:
        bare, ours = [], []
        for _ in range(runs[workers]):
            bare.append(_bring_up(lab, workers, bare_slurm(lab, workers)))
            ours.append(_bring_up(lab, workers, our_scripts(lab, workers)))
        yield Row(
            f"nothing to all idle, {workers} workers{_downloads(ours, workers)}",
            statistics.median(each.seconds for each in ours),
            "bare Slurm",
            statistics.median(each.seconds for each in bare),
            "ratio <= 1.5" if workers == largest else "",
        )
        if workers == largest:
            yield from _step_rows(ours[-1].steps)


def _downloads(runs: Sequence[BringUp], workers: int) -> str:
    connections = max(each.connections for each in runs)
    return f", {connections / (workers + 1):.1f} connections out of each node"


def _step_rows(steps: Mapping[str, Sequence[float]]) -> Iterable[Row]:
    medians = {name: statistics.median(seconds) for name, seconds in steps.items()}
    for name in sorted(medians, key=lambda name: -medians[name]):
        yield Row(f"step {name}, median of its {len(steps[name])} nodes", medians[name])


def _bring_up(lab: HyperPodLab, workers: int, files: Mapping[str, str]) -> BringUp:
    """Create a cluster, measure that, and delete it."""
    uri = upload(lab, files)
    with _connections() as connections:
        started = time.monotonic()
        name = make(lab, workers, uri)
        seconds = time.monotonic() - started
    steps = defaultdict(list)
    for report in reports(lab, name):
        for step in report["steps"]:
            steps[step["step"]].append(step["seconds"])
    lab.delete(name)
    return BringUp(seconds, len(connections), steps)


@contextmanager
def _connections() -> Iterator[list[None]]:
    """Count the nodes' connections to targets outside of their network: all of them are AWS."""
    made: list[None] = []
    connect = Door._connect  # noqa: SLF001  # there is no public hook

    def counted(door: Door, inside: Any) -> None:
        made.append(None)
        connect(door, inside)

    with patch.object(Door, "_connect", counted):
        yield made
