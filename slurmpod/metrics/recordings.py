"""Series that are computed once and looked at often; named `level:metric:operations`.

Source of the names: Prometheus, "Recording rules". Windows are five times the longest interval
between two samples that an environment may have.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Recording:
    """A series, and the expression that gives it."""

    name: str
    expression: str


RECORDINGS = (
    Recording(
        "slurm:nodes:count",
        "count by (state) (max by (node, state) (slurmpod_slurm_node_state))",
    ),
    Recording(
        "slurm:cpus:sum",
        "sum by (use) (max by (node, use) (slurmpod_slurm_node_cpus))",
    ),
    Recording(
        "slurm:gpus:sum",
        "sum by (use) (max by (node, use) (slurmpod_slurm_node_gpus))",
    ),
    Recording(
        "node:cpu_busy:ratio",
        '1 - avg by (node, group, role) (rate(node_cpu_seconds_total{mode="idle"}[10m]))',
    ),
    Recording(
        "node:gpu_utilization:avg",
        "avg by (node, group) (slurmpod_gpu_utilization_ratio)",
    ),
    Recording(
        "node:efa_bytes:rate",
        "sum by (node, group, kind) (rate(slurmpod_efa_bytes_total[10m]))",
    ),
)
