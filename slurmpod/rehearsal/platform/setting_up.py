"""What HyperPod itself does on one node for Slurm, before any script of the user's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.rehearsal.platform.accounting import start_accounting, storage_of
from slurmpod.rehearsal.platform.cluster_agent import hostname, slurm_layout
from slurmpod.rehearsal.platform.image_configuration import (
    mount_file_systems,
    start_slurmctld,
    start_slurmd,
)
from slurmpod.rehearsal.platform.placing import put_file
from slurmpod.rehearsal.platform.slurm_conf import slurm_files

if TYPE_CHECKING:
    from slurmpod.rehearsal.cloud.platform import ClusterNode
    from slurmpod.rehearsal.platform.cluster_run import ClusterRun


def set_up(run: ClusterRun, node: ClusterNode) -> None:
    """Mount file systems and start Slurm, as the image does by itself; raises ClusterFailed."""
    name, primary = hostname(node), run.controllers[0]
    mount_file_systems(run.machines, name, run.cluster.group(node.group).mounts)
    if node in run.controllers:
        storage = storage_of(run.role(node).gateway, run.cluster.settings.accounting_database)
        start_accounting(run.machines, name, node.private_ip, storage)
        start_slurmctld(run.machines, name)
    else:
        start_slurmd(run.machines, name, primary.private_ip)


def write_slurm_files(run: ClusterRun, controller: ClusterNode) -> None:
    """Write all of Slurm's configuration on a controller whose root volume is new."""
    for path, content in slurm_files(slurm_layout(run.cluster, run.provisioning)).items():
        put_file(run.machines, hostname(controller), path, content)
