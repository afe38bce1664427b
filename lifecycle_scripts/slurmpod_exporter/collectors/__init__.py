"""All collectors; a node uses those whose subject it has."""

from __future__ import annotations

from slurmpod_exporter.collector import Collector
from slurmpod_exporter.collectors.dcgm import DCGM
from slurmpod_exporter.collectors.efa import EFA
from slurmpod_exporter.collectors.gpu import GPU
from slurmpod_exporter.collectors.lustre import LUSTRE
from slurmpod_exporter.collectors.neuron import NEURON
from slurmpod_exporter.collectors.slurm_jobs import SLURM_JOBS
from slurmpod_exporter.collectors.slurm_nodes import SLURM_NODES
from slurmpod_exporter.collectors.slurm_scheduler import SLURM_SCHEDULER
from slurmpod_exporter.collectors.xid import XID

COLLECTORS: tuple[Collector, ...] = (
    SLURM_SCHEDULER,
    SLURM_NODES,
    SLURM_JOBS,
    GPU,
    DCGM,
    XID,
    NEURON,
    EFA,
    LUSTRE,
)
