"""A cluster with CPU nodes, GPU nodes and limits, against which scripts are held."""

from __future__ import annotations

from typing import Any

from slurmpod.model.environment import Environment
from slurmpod.resolve import Resolved, resolve
from tests.sound_environment import sound_data

SLURM = {"accounts": [{"name": "research"}], "qos": [{"name": "high"}]}


def resolved_cluster(slurm: dict[str, Any] = SLURM) -> Resolved:
    data = sound_data()
    gpu_nodes = {"name": "gpus", "role": "worker", "partition": "p5", "count": 4}
    data["cluster"]["groups"].append({**gpu_nodes, "instance_type": "ml.p5.48xlarge"})
    return resolve(Environment.model_validate({**data, "slurm": slurm}, strict=False))
