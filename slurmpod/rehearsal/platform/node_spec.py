"""What the machine of a node is made of: name, address, devices, and the files from HyperPod."""

from __future__ import annotations

from ipaddress import IPv4Interface
from typing import TYPE_CHECKING

from slurmpod.rehearsal.nodes.spec import File, MachineSpec
from slurmpod.rehearsal.platform.cluster_agent import accelerator_devices, hostname
from slurmpod.rehearsal.platform.node_files import (
    AWS_ENVIRONMENT,
    PROVISIONING_PARAMETERS,
    RESOURCE_CONFIG,
    aws_environment,
    resource_config,
)

if TYPE_CHECKING:
    from slurmpod.rehearsal.cloud.platform import ClusterNode
    from slurmpod.rehearsal.platform.cluster_run import ClusterRun


def machine_spec(run: ClusterRun, node: ClusterNode) -> MachineSpec:
    """Return what a node's machine is when it boots for the first time."""
    kind, count = accelerator_devices(node.instance_type)
    files = {
        RESOURCE_CONFIG: File(resource_config(run.cluster, run.controllers)),
        AWS_ENVIRONMENT: File(aws_environment(run.role(node).variables), mode=0o644),
        "/etc/munge/munge.key": File(run.munge_key, mode=0o400, owner="munge"),
    }
    if run.provisioning.file is not None:
        files[PROVISIONING_PARAMETERS] = File(run.provisioning.file)
    return MachineSpec(
        hostname=hostname(node),
        address=_address(node),
        files=files,
        accelerator_kind=kind,
        accelerators=count,
    )


def _address(node: ClusterNode) -> IPv4Interface:
    """Return the node's address with its subnet's prefix length, from its network interface."""
    assert node.interface is not None  # noqa: S101  # gone only when the node is
    prefix_length = node.interface.subnet_cidr.partition("/")[2]
    return IPv4Interface(f"{node.private_ip}/{prefix_length}")
