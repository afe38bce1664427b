"""HyperPod's agent on the controller: owns slurm.conf and writes it late, while scripts run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.model.catalog import instance_types
from slurmpod.rehearsal.platform.placing import put_file
from slurmpod.rehearsal.platform.slurm_conf import SlurmNode, slurm_files

if TYPE_CHECKING:
    from slurmpod.rehearsal.cloud.platform import Cluster, ClusterNode
    from slurmpod.rehearsal.nodes.machines import Machines
    from slurmpod.rehearsal.platform.provisioning import Provisioning


def write_slurm_configuration(
    machines: Machines, cluster: Cluster, provisioning: Provisioning
) -> None:
    """Write slurm.conf on the controller, after the files that it needs."""
    controller = controller_of(cluster, provisioning)
    files = slurm_files(
        cluster_name=cluster.name,
        controller=hostname(controller),
        controller_address=controller.private_ip,
        nodes=[
            _slurm_node(cluster, node, provisioning) for node in cluster.nodes if node != controller
        ],
    )
    for path, content in files.items():
        put_file(machines, hostname(controller), path, content)


def controller_of(cluster: Cluster, provisioning: Provisioning) -> ClusterNode:
    """Return the one node of the controller group."""
    return next(node for node in cluster.nodes if node.group == provisioning.controller_group)


def hostname(node: ClusterNode) -> str:
    """Return the node's name, which is also its name in Slurm: `ip-a-b-c-d`."""
    return f"ip-{node.private_ip.replace('.', '-')}"


def accelerator_devices(instance_type: str) -> tuple[str, int]:
    """Return how an instance type's accelerator devices are called, and how many there are."""
    facts = instance_types()[instance_type]
    return "neuron" if facts.accelerator_kind == "neuron" else "nvidia", facts.accelerator_count


def _slurm_node(cluster: Cluster, node: ClusterNode, provisioning: Provisioning) -> SlurmNode:
    group = next(group for group in cluster.groups if group.name == node.group)
    facts = instance_types()[node.instance_type]
    return SlurmNode(
        name=hostname(node),
        address=node.private_ip,
        cpus=facts.cores * (group.threads_per_core or facts.default_threads_per_core),
        gpus=facts.accelerator_count if facts.accelerator_kind == "gpu" else 0,
        partition=provisioning.partitions.get(node.group),
    )
