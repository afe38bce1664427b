"""A cluster with CPU nodes, GPU nodes and limits, against which scripts are held."""

from __future__ import annotations

from typing import Any

from slurmpod.environment.environment import Environment
from slurmpod.reading.read import Reading
from slurmpod.resolve import Resolved, resolve
from tests.sound_environment import sound_data

SLURM = {"accounts": [{"name": "research"}], "qos": [{"name": "high"}]}


def resolved_cluster(slurm: dict[str, Any] = SLURM, *types: str, login: bool = False) -> Resolved:
    """Return the cluster; `types` are those that its GPU nodes may have, if there are several."""
    data = sound_data()
    gpu_nodes = {"name": "gpus", "role": "worker", "partition": "p5", "count": 4}
    kind = {"instance_types": types} if types else {"instance_type": "ml.p5.48xlarge"}
    data["cluster"]["groups"].append({**gpu_nodes, **kind})
    if login:
        door = {"name": "door", "role": "login", "instance_type": "ml.m5.xlarge"}
        data["cluster"]["groups"].append(door)
    return resolve(Reading(Environment.model_validate({**data, "slurm": slurm}, strict=False)))


LIMITS = {
    "partitions": [
        {"name": "cpu", "max_time": "1-00:00:00", "allowed_qos": ["normal", "urgent"]},
        {"name": "p5", "allowed_accounts": ["language"]},
    ],
    "qos": [{"name": "urgent", "max_time": "01:00:00"}, {"name": "spare"}],
    "accounts": [
        {"name": "vision", "qos": ["normal", "spare"]},
        {"name": "language", "qos": ["normal", "urgent"]},
    ],
}
"""Partitions that limit the time of jobs, and who may use them."""
