"""Node setup by HyperPod's agents and image: commands, files and configuration.

HyperPod writes /opt/ml/config, following its node contract. Its image mounts the group's file
systems, moves the user's home there, and starts Slurm, unless an OnCreate script does all of it.
Source: developer guide, "Getting started with SageMaker HyperPod using the AWS CLI", AMI-based
configuration. Of its list, Docker, Enroot, Pyxis and log rotation are not in the rehearsal's image.
"""

from __future__ import annotations

import io
import json
import shlex
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from typing import Any

from embedded_aws.cluster import Cluster, ClusterFailed, ClusterNode, FileSystemMount, InstanceGroup
from slurmpod.rehearsal.nodes.machines import Machines

TIMEOUT_SECONDS = 60


def put_file(
    machines: Machines,
    hostname: str,
    path: str,
    content: bytes,
    *,
    mode: int = 0o644,
    owner: str = "root",
) -> None:
    """Write a file, replacing the old one atomically; a link is followed."""
    script = (
        f"target=$(readlink --canonicalize {shlex.quote(path)}) && umask 077 &&"
        f' cat > "$target.partial" && chown {shlex.quote(owner)}: "$target.partial" &&'
        f' chmod {mode:o} "$target.partial" && mv "$target.partial" "$target"'
    )
    run_script(machines, hostname, script, stdin=content)


def read_file(machines: Machines, hostname: str, path: str) -> bytes:
    """Return the content of a file, or nothing if it does not exist."""
    quoted = shlex.quote(path)
    return run_script(machines, hostname, f"[ ! -e {quoted} ] || cat {quoted}")


def put_tree(machines: Machines, hostname: str, folder: str, files: Mapping[str, bytes]) -> None:
    """Write files to a new folder; S3 keeps no modes, so all of them become executable."""
    target = shlex.quote(folder)
    script = f"mkdir -p {target} && tar -x -C {target}"
    run_script(machines, hostname, script, stdin=_archive(files))


def run_script(machines: Machines, hostname: str, script: str, *, stdin: bytes = b"") -> bytes:
    """Run a short shell script as root and return its output; raises as `run_command` does."""
    return run_command(machines, hostname, ["/bin/sh", "-c", script], stdin=stdin)


def run_command(
    machines: Machines,
    hostname: str,
    command: Sequence[str],
    *,
    stdin: bytes = b"",
    seconds: float = TIMEOUT_SECONDS,
) -> bytes:
    """Run a command as root and return its output.

    Raises ClusterFailed if it fails or times out, MachineFailed if the node does not run.
    """
    try:
        result = machines.run(hostname, command, stdin=stdin, timeout_seconds=seconds)
    except subprocess.TimeoutExpired:
        raise ClusterFailed(
            f"{hostname}: command timed out after {seconds:g} s: {_shown(command)}"
        ) from None
    if result.returncode:
        said = (
            result.stderr.decode(errors="replace").strip()
            or f"exit status {result.returncode} from {_shown(command)}"
        )
        raise ClusterFailed(f"{hostname}: {said}")
    return result.stdout


def _shown(command: Sequence[str]) -> str:
    """Return a command as a user would type it: of a shell script, only the script."""
    *shell, script = command
    return script if shell == ["/bin/sh", "-c"] else shlex.join(command)


def _archive(files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path, content in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(content)
            entry.mode = 0o755
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


CONFIG_FOLDER = "/opt/ml/config"
RESOURCE_CONFIG = f"{CONFIG_FOLDER}/resource_config.json"
PROVISIONING_PARAMETERS = f"{CONFIG_FOLDER}/provisioning_parameters.json"
AWS_ENVIRONMENT = "/etc/rehearsal/aws"
"""Read by the image's `aws` before it runs the real one; HyperPod has no such file."""


def aws_environment(variables: Mapping[str, str]) -> bytes:
    """Return a file with the variables for AWS tools, in shell syntax."""
    lines = [f"{name}={shlex.quote(value)}\n" for name, value in sorted(variables.items())]
    return "".join(lines).encode()


def resource_config(cluster: Cluster, controllers: Sequence[ClusterNode]) -> bytes:
    """Return resource_config.json: the cluster, its groups, and their current instances.

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
flock 9  # other nodes do the same in the same folder
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
        line = shlex.quote(_fstab_line(mount))  # mounted again after a reboot
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
    """Start the controller daemon, whose configuration exists; raises ClusterFailed."""
    run_script(machines, hostname, "systemctl enable --quiet --now slurmctld")


def start_slurmd(
    machines: Machines, hostname: str, controller_address: str, environment_file: str
) -> None:
    """Start the node daemon, which gets its configuration from the controller."""
    options = f"SLURMD_OPTIONS=--conf-server={controller_address}:6817\n"
    put_file(machines, hostname, environment_file, options.encode())
    run_script(machines, hostname, "systemctl enable --quiet --now slurmd")


def start_sackd(machines: Machines, hostname: str, controller_address: str) -> None:
    """Start the daemon that provides Slurm's commands with their configuration without slurmd."""
    options = f"SACKD_OPTIONS=--conf-server={controller_address}:6817\n"
    put_file(machines, hostname, "/etc/default/sackd", options.encode())
    run_script(machines, hostname, "systemctl enable --quiet --now sackd")
