"""The steps of all nodes, one file each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod_lifecycle.hooks import with_hooks
from slurmpod_lifecycle.steps.accounting import Accounting
from slurmpod_lifecycle.steps.associations import Associations
from slurmpod_lifecycle.steps.back_in_service import BackInService
from slurmpod_lifecycle.steps.bar_daemons import BarDaemons
from slurmpod_lifecycle.steps.container_folders import ContainerFolders
from slurmpod_lifecycle.steps.container_option import ContainerOption
from slurmpod_lifecycle.steps.containers import Containers
from slurmpod_lifecycle.steps.database_password import DatabasePassword
from slurmpod_lifecycle.steps.docker import Docker
from slurmpod_lifecycle.steps.efa_client import EfaClient
from slurmpod_lifecycle.steps.health_checks import HealthChecks
from slurmpod_lifecycle.steps.homes import Homes
from slurmpod_lifecycle.steps.image_facts import ImageFacts
from slurmpod_lifecycle.steps.job_bound_ssh import JobBoundSsh
from slurmpod_lifecycle.steps.keep_daemons import KeepDaemons
from slurmpod_lifecycle.steps.log_rotation import LogRotation
from slurmpod_lifecycle.steps.logins import Logins
from slurmpod_lifecycle.steps.metrics import Metrics
from slurmpod_lifecycle.steps.motd import Motd
from slurmpod_lifecycle.steps.mount_fsx import MountFsx
from slurmpod_lifecycle.steps.mount_s3 import MountS3
from slurmpod_lifecycle.steps.neuron import Neuron
from slurmpod_lifecycle.steps.partitions import Partitions
from slurmpod_lifecycle.steps.scratch import Scratch
from slurmpod_lifecycle.steps.self_check import SelfCheck
from slurmpod_lifecycle.steps.shared_state import SharedState
from slurmpod_lifecycle.steps.slurm_settings import SlurmSettings
from slurmpod_lifecycle.steps.slurmctld import Slurmctld
from slurmpod_lifecycle.steps.slurmd import Slurmd
from slurmpod_lifecycle.steps.ssh_between_nodes import SshBetweenNodes
from slurmpod_lifecycle.steps.sssd import Sssd
from slurmpod_lifecycle.steps.switched_off import SwitchedOff
from slurmpod_lifecycle.steps.topology import Topology
from slurmpod_lifecycle.steps.user_folder import UserFolder
from slurmpod_lifecycle.steps.users import Users

if TYPE_CHECKING:
    from slurmpod_lifecycle.node import Node, NodeStep

STEPS: tuple[type[NodeStep], ...] = (
    ImageFacts,
    Scratch,
    EfaClient,
    MountFsx,
    MountS3,
    UserFolder,
    Users,
    Logins,
    Sssd,
    Homes,
    SshBetweenNodes,
    JobBoundSsh,
    BarDaemons,
    KeepDaemons,
    SharedState,
    Accounting,
    DatabasePassword,
    SlurmSettings,
    Containers,
    Topology,
    Slurmctld,
    Associations,
    Partitions,
    ContainerFolders,
    Docker,
    HealthChecks,
    Neuron,
    Slurmd,
    ContainerOption,
    Metrics,
    Motd,
    LogRotation,
    SwitchedOff,
    SelfCheck,
    BackInService,
)


def steps_for(node: Node) -> tuple[NodeStep, ...]:
    """Return what this node needs, ready to run, with the user's own scripts around it."""
    return with_hooks(node, [step(node) for step in STEPS if step.applies_to(node)])
