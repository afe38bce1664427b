"""Configuration that HyperPod's image does by itself, unless an OnCreate script does it all.

It mounts the group's file systems, moves the user's home there, and starts Slurm. Source: developer
guide, "Getting started with SageMaker HyperPod using the AWS CLI", AMI-based configuration. Of what
that lists, Docker, Enroot, Pyxis and log rotation are not in the rehearsal's image.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from embedded_aws.cluster import FileSystemMount
from slurmpod.rehearsal.hyperpod.node_commands import put_file, run_script
from slurmpod.rehearsal.nodes.machines import Machines

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
