"""A cluster of the lab for faults.

Slurm's timeout for a silent node is shorter than HyperPod's, so that tests can wait for it. So is
that of messages: a ping that waits for one node delays those that it forwards to others, and they
would all be given up.
"""

from __future__ import annotations

from pathlib import Path

from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.hyperpod.capacity import Shortage
from tests.nodes.hyperpod_lab import HyperPodLab, hostname

NAME = "faults"
WORKERS = 2
ENVIRONMENT = f"""
name: {NAME}
account: "123456789012"
region: us-west-2
network: {{zone: us-west-2a}}
storage:
  lustre: {{capacity_gib: 1200, throughput_mbps_per_tib: 125}}
slurm:
  settings: {{SlurmdTimeout: 15, MessageTimeout: 5}}
cluster:
  groups:
    - {{name: head, role: controller, instance_type: ml.m5.large}}
    - {{name: login, role: login, instance_type: ml.m5.large}}
    - {{name: cpu, role: worker, instance_type: ml.m5.large, count: {WORKERS}, partition: cpu}}
"""


def lab_cluster(lab: HyperPodLab) -> FaultCluster:
    """Return one with the groups `head`, `login` and `cpu`, and its users' files in /fsx."""
    head, login, *workers = (
        hostname(node) for group in ("head", "login", "cpu") for node in lab.nodes(NAME, group)
    )
    return FaultCluster(
        folder=lab.folder,
        aws=lab.aws,
        name=NAME,
        controller=head,
        login=login,
        workers=tuple(workers),
        partition="cpu",
        shared=Path("/fsx"),
        shortage=Shortage(lab.folder),
    )
