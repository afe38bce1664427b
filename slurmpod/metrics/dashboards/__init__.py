"""The dashboards of an environment: cluster, Slurm queue, accelerators, EFA, file systems."""

from __future__ import annotations

from slurmpod.metrics.dashboards.accelerators import ACCELERATORS
from slurmpod.metrics.dashboards.cluster import CLUSTER
from slurmpod.metrics.dashboards.efa import EFA
from slurmpod.metrics.dashboards.file_systems import FILE_SYSTEMS
from slurmpod.metrics.dashboards.queue import QUEUE

DASHBOARDS = (CLUSTER, QUEUE, ACCELERATORS, EFA, FILE_SYSTEMS)
