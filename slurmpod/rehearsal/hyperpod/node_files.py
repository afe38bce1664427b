"""Files and configuration that HyperPod and its image put on a node by themselves.

HyperPod writes /opt/ml/config, after its node contract. Its image mounts the group's file systems,
moves the user's home there, and starts Slurm, unless an OnCreate script does it all. Source:
developer guide, "Getting started with SageMaker HyperPod using the AWS CLI", AMI-based
configuration. Of what that lists, Docker, Enroot, Pyxis and log rotation are not in the rehearsal's
image.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from embedded_aws.cluster import Cluster, ClusterNode, FileSystemMount, InstanceGroup
from slurmpod.rehearsal.hyperpod.node_commands import put_file, run_script
from slurmpod.rehearsal.nodes.machines import Machines

CONFIG_FOLDER = "/opt/ml/config"
RESOURCE_CONFIG = f"{CONFIG_FOLDER}/resource_config.json"
PROVISIONING_PARAMETERS = f"{CONFIG_FOLDER}/provisioning_parameters.json"
AWS_ENVIRONMENT = "/etc/rehearsal/aws"
"""What the image's `aws` reads before it runs the real one; HyperPod has no such file."""


def aws_environment(variables: Mapping[str, str]) -> bytes:
    """Return the file with the variables that lead AWS tools, as a shell reads it."""
    lines = [f"{name}={shlex.quote(value)}\n" for name, value in sorted(variables.items())]
    return "".join(lines).encode()


def resource_config(cluster: Cluster, controllers: Sequence[ClusterNode]) -> bytes:
    """Return resource_config.json: the cluster, its groups, and the instances there are now.

    A group without instances has `null` for them, as observed on real clusters.
    """
    primary, *secondaries = [node.private_ip for node in controllers]
    document = {
        "ClusterConfig": {
            "ClusterArn": cluster.arn,
            "ClusterName": cluster.name,
            "ClusterType": "Slurm",
            "SlurmConfig": {
                "PrimaryControllerIp": primary,
                "SecondaryControllerIps": secondaries,
            },
        },
        "InstanceGroups": [_group(group, cluster.members(group.name)) for group in cluster.groups],
    }
    return json.dumps(document, indent=2).encode()


def _group(group: InstanceGroup, members: Sequence[ClusterNode]) -> dict[str, Any]:
    instances = [
        {
            "InstanceName": f"{group.name}-{number}",
            "AgentIpAddress": node.private_ip,
            "CustomerIpAddress": node.private_ip,
            "InstanceId": node.instance_id,
        }
        for number, node in enumerate(members, start=1)
    ]
    return {
        "Name": group.name,
        "InstanceType": group.instance_type,
        "Instances": instances or None,
    }


USER = "ubuntu"
_MOUNT_OPTIONS = {"lustre": "noatime,flock", "nfs": "nfsvers=4.2,nconnect=16,noatime"}
_HOME = """\
set -eu
home=$1 user=$2
mkdir -p "$home"
exec 9<"$home"
flock 9  # other nodes do the same, with the same folder
if [ ! -e "$home/.bashrc" ]; then cp -R /etc/skel/. "$home/"; fi
mkdir -p "$home/.ssh"
if [ ! -e "$home/.ssh/id_ed25519" ]; then
    ssh-keygen -q -t ed25519 -N "" -C "$user" -f "$home/.ssh/id_ed25519"
    cat "$home/.ssh/id_ed25519.pub" >> "$home/.ssh/authorized_keys"
fi
chown -R "$user:" "$home"
chmod 700 "$home/.ssh"
usermod --home "$home" "$user"
"""


def mount_file_systems(
    machines: Machines, hostname: str, mounts: Sequence[FileSystemMount]
) -> None:
    """Mount a group's file systems and give the user a home there; raises ClusterFailed."""
    for mount in mounts:
        path = shlex.quote(mount.path)
        line = shlex.quote(_fstab_line(mount))  # so that a reboot mounts it, too
        run_script(
            machines, hostname, f"mkdir -p {path} && echo {line} >> /etc/fstab && mount {path}"
        )
    arguments = shlex.join(["sh", "-c", _HOME, "sh", home_folder(mounts), USER])
    run_script(machines, hostname, arguments)


def _fstab_line(mount: FileSystemMount) -> str:
    options = f"{_MOUNT_OPTIONS[mount.kind]},_netdev"
    return f"{mount.source} {mount.path} {mount.kind} {options} 0 0"


def home_folder(mounts: Sequence[FileSystemMount]) -> str:
    """Return the user's home: on OpenZFS if there is one, else on Lustre, else on the node."""
    for kind in ("nfs", "lustre"):
        for mount in mounts:
            if mount.kind == kind:
                return f"{mount.path}/{USER}"
    return f"/home/{USER}"


def start_slurmctld(machines: Machines, hostname: str) -> None:
    """Start the controller daemon, which has its configuration; raises ClusterFailed."""
    run_script(machines, hostname, "systemctl enable --quiet --now slurmctld")


def start_slurmd(machines: Machines, hostname: str, controller_address: str) -> None:
    """Start the node daemon, which gets its configuration from the controller."""
    options = f"SLURMD_OPTIONS=--conf-server={controller_address}:6817\n"
    put_file(machines, hostname, "/etc/default/slurmd", options.encode())
    run_script(machines, hostname, "systemctl enable --quiet --now slurmd")
