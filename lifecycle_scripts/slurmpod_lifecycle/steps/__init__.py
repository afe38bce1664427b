"""The steps of all nodes, one file each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod_lifecycle.steps.accounting import Accounting
from slurmpod_lifecycle.steps.bar_daemons import BarDaemons
from slurmpod_lifecycle.steps.mount_fsx import MountFsx
from slurmpod_lifecycle.steps.self_check import SelfCheck
from slurmpod_lifecycle.steps.slurmctld import Slurmctld
from slurmpod_lifecycle.steps.slurmd import Slurmd
from slurmpod_lifecycle.steps.user_folder import UserFolder

if TYPE_CHECKING:
    from slurmpod_lifecycle.node import Node, NodeStep

STEPS: tuple[type[NodeStep], ...] = (
    MountFsx,
    UserFolder,
    BarDaemons,
    Accounting,
    Slurmctld,
    Slurmd,
    SelfCheck,
)


def steps_for(node: Node) -> tuple[NodeStep, ...]:
    """Return what this node needs, ready to run."""
    return tuple(step(node) for step in STEPS if step.applies_to(node))
