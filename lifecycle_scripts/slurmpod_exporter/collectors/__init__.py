"""All collectors; a node uses those that apply to it."""

from __future__ import annotations

from slurmpod_exporter.collector import Collector
from slurmpod_exporter.collectors.efa import EFA
from slurmpod_exporter.collectors.gpu_jobs import GPU_JOBS
from slurmpod_exporter.collectors.idle_checks import IDLE_CHECKS
from slurmpod_exporter.collectors.lustre import LUSTRE
from slurmpod_exporter.collectors.neuron import NEURON
from slurmpod_exporter.collectors.nvidia_gpu import DCGM, GPU, XID
from slurmpod_exporter.collectors.slurm_controller import SLURM_JOBS, SLURM_NODES, SLURM_SCHEDULER

COLLECTORS: tuple[Collector, ...] = (
    SLURM_SCHEDULER,
    SLURM_NODES,
    SLURM_JOBS,
    IDLE_CHECKS,
    GPU_JOBS,
    GPU,
    DCGM,
    XID,
    NEURON,
    EFA,
    LUSTRE,
)
