"""A cluster of the lab as faults need it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from slurmpod.rehearsal.scenarios.faults.cluster import FaultCluster
from tests.rehearsal.hyperpod_lab import hostname

if TYPE_CHECKING:
    from tests.rehearsal.hyperpod_lab import HyperPodLab


def lab_cluster(lab: HyperPodLab, name: str) -> FaultCluster:
    """Return one with the groups `head`, `login` and `cpu`, and its users' files in /fsx."""
    head, login, *workers = (
        hostname(node) for group in ("head", "login", "cpu") for node in lab.nodes(name, group)
    )
    return FaultCluster(
        folder=lab.folder,
        aws=lab.aws,
        name=name,
        controller=head,
        login=login,
        workers=tuple(workers),
        partition="cpu",
        shared=Path("/fsx"),
    )
