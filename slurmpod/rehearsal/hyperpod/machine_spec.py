"""A node's machine at first boot: HyperPod's image and its files."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Interface

from embedded_aws.cluster import ClusterNode
from slurmpod.platform_profiles.profile import Profile
from slurmpod.rehearsal.hyperpod.cluster_agent import accelerator_devices, hostname
from slurmpod.rehearsal.hyperpod.image_disk import files_of, files_of_agents
from slurmpod.rehearsal.hyperpod.node_files import (
    AWS_ENVIRONMENT,
    PROVISIONING_PARAMETERS,
    RESOURCE_CONFIG,
    aws_environment,
)
from slurmpod.rehearsal.nodes.spec import File, MachineSpec


def machine_spec(
    node: ClusterNode,
    profile: Profile,
    *,
    instances: bytes,
    variables: Mapping[str, str],
    munge_key: bytes,
    provisioning: bytes | None,
) -> MachineSpec:
    """Return the machine of a node.

    `instances` is the list of instances as a file, `variables` are a session of the node's role,
    and `provisioning` is the file of provisioning parameters, if there is one.
    """
    kind, count = accelerator_devices(node.instance_type)
    files = {
        RESOURCE_CONFIG: File(instances),
        **files_of(profile.image),
        **files_of_agents(profile.agents),
        AWS_ENVIRONMENT: File(aws_environment(variables), mode=0o644),
        "/etc/munge/munge.key": File(munge_key, mode=0o400, owner="munge"),
    }
    if provisioning is not None:
        files[PROVISIONING_PARAMETERS] = File(provisioning)
    return MachineSpec(
        hostname=hostname(node),
        address=_address(node),
        files=files,
        accelerator_kind=kind,
        accelerators=count,
        interface=profile.image.interface,
    )


def _address(node: ClusterNode) -> IPv4Interface:
    """Return the node's address with its subnet's prefix length, for its network interface."""
    assert node.interface is not None  # noqa: S101  # gone only when the node is
    prefix_length = node.interface.subnet_cidr.partition("/")[2]
    return IPv4Interface(f"{node.private_ip}/{prefix_length}")
