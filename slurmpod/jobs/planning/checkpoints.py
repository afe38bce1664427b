"""Checkpoints of a training: size, duration, interval, and the cost of failures."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from slurmpod.jobs.planning.models import Model
from slurmpod.resolve.resolved import LustreFacts
from slurmpod.value import Value

CHECKPOINT_BYTES = 12
"""Of a parameter in a checkpoint: 32-bit weights and two moments of Adam. Programs that keep the
16-bit weights, too, write 14."""

CLIENT_BYTES_PER_SECOND = 12.5e9
"""Write throughput of a node without EFA: 100 Gb/s (FSx for Lustre user guide, performance)."""

THROUGHPUT_OF_SCRATCH = {"SCRATCH_2": 200}
"""MB/s per TiB of types that take no such value (FSx for Lustre user guide, performance)."""

NODE_MTBF_HOURS = MappingProxyType({"Llama 3 405B": 6335.0, "OPT-175B": 1729.0})
"""Hours between failures of a node with 8 GPUs in two published runs. Llama 3: 419 in 54 days on
16,384 GPUs (arXiv 2407.21783). OPT: 105 restarts in 61 days on 124 nodes (arXiv 2205.01068)."""

RESTART_MINUTES = 25
"""Time until a training resumes: a node is replaced in 20 to 30 minutes."""


class Failures(Value):
    """The cost of failures at one failure rate; hours are wall-clock time.

    `efficiency` is the share of productive time; 0 if the training would never end.
    """

    node_mtbf_hours: float
    job_mtbf_hours: float
    interval_minutes: float
    daly_minutes: float
    efficiency: float


def checkpoint_bytes(model: Model) -> int:
    """Return the size of one checkpoint."""
    return model.parameters * CHECKPOINT_BYTES


def bytes_per_second(lustre: LustreFacts, nodes: int) -> float | None:
    """Return the write throughput of a file system for this number of nodes; None if unknown.

    This is the throughput that FSx promises, without bursts.
    """
    if lustre.settings.existing:
        return None
    if lustre.throughput_mbps:
        offered = lustre.throughput_mbps * 1e6
    elif lustre.capacity_gib and lustre.settings.deployment_type in THROUGHPUT_OF_SCRATCH:
        offered = lustre.capacity_gib / 1024 * THROUGHPUT_OF_SCRATCH["SCRATCH_2"] * 1e6
    elif lustre.capacity_gib and lustre.throughput_mbps_per_tib:
        offered = lustre.capacity_gib / 1024 * lustre.throughput_mbps_per_tib * 1e6
    else:
        return None
    return min(offered, nodes * CLIENT_BYTES_PER_SECOND)


def failures(node_mtbf_hours: float, nodes: int, seconds: float) -> Failures:
    """Return the best interval between checkpoints that take so many seconds, and what is lost.

    Young 1974: the root of 2CM. Daly 2006 takes C off it. Lost are C in each interval, and with
    each failure half an interval and the restart.
    """
    job_mtbf = node_mtbf_hours / nodes * 3600
    interval = float((2 * seconds * job_mtbf) ** 0.5)
    lost = seconds / interval + (interval / 2 + RESTART_MINUTES * 60) / job_mtbf
    return Failures(
        node_mtbf_hours=node_mtbf_hours,
        job_mtbf_hours=job_mtbf / 3600,
        interval_minutes=interval / 60,
        daly_minutes=max(0.0, interval - seconds) / 60,
        efficiency=max(0.0, 1 - lost),
    )


def bounds(node_mtbf_hours: float | None) -> Mapping[str, float]:
    """Return the rates of failures to plan with: the published ones, or the user's own."""
    return {"this cluster": node_mtbf_hours} if node_mtbf_hours else NODE_MTBF_HOURS
