"""Buckets as folders: one service for each, which runs Mountpoint for Amazon S3.

Optional: training from S3 also works without a folder. Mountpoint is not on every image. If it is
missing, the environment's own package is installed; without one the node reports it.
"""

from __future__ import annotations

from slurmpod_lifecycle import units
from slurmpod_lifecycle.machine import source_at
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.packages import architecture, install_artefact
from slurmpod_lifecycle.settings import Role, S3Mount
from slurmpod_lifecycle.step import NotYet, StepFailed

COMMAND = "/usr/bin/mount-s3"
"""The path of Mountpoint in its packages."""

ARTEFACT = "mount_s3"


class MountS3(NodeStep):
    """The environment's buckets at its paths."""

    name = "mount_s3"
    roles = frozenset(Role)
    needs = ("mount_fsx",)
    required = False

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether the environment has such buckets."""
        return super().applies_to(node) and bool(node.settings.s3_mounts)

    def is_done(self) -> bool:
        """Return whether every bucket is mounted, and will be after a reboot."""
        machine = self.node.machine
        return all(
            machine.read(units.unit_path(self._unit(mount))) == service(mount)
            and units.is_running(machine, self._unit(mount))
            and source_at(machine, mount.mount_path) is not None
            for mount in self.node.settings.s3_mounts
        )

    def apply(self) -> str:
        """Write and start the services; raises StepFailed if Mountpoint is not available.

        A service stops before its file changes: an interruption never leaves it running with an
        outdated file.
        """
        machine, mounts = self.node.machine, self.node.settings.s3_mounts
        self._ensure_mountpoint()
        for mount in mounts:
            unit = self._unit(mount)
            self._ensure_folder(mount)
            if machine.read(units.unit_path(unit)) != service(mount):
                machine.succeeds("systemctl", "stop", unit)
            units.add_unit(machine, unit, service(mount))
            units.start(machine, unit)
            if source_at(machine, mount.mount_path) is None:
                reason = f"nothing is mounted at {mount.mount_path}"
                raise NotYet(f"{reason}: {units.last_error(machine, unit)}", _FIX)
        return "mounted " + ", ".join(f"{each.bucket} at {each.mount_path}" for each in mounts)

    def _ensure_mountpoint(self) -> None:
        if self.node.machine.succeeds("test", "-x", COMMAND):
            return
        if not install_artefact(self.node, ARTEFACT):
            raise StepFailed(
                f"Mountpoint for Amazon S3 is not on this node: there is no {COMMAND}",
                f"name its package for {architecture(self.node)} in lifecycle.artefacts"
                f" ({ARTEFACT}), use an image with it (image_id of the group), or remove s3_mounts",
            )

    def _ensure_folder(self, mount: S3Mount) -> None:
        """Create the folder, even below the broken mount of a Mountpoint that died."""
        machine, folder = self.node.machine, mount.mount_path
        if not machine.succeeds("test", "-d", folder):
            machine.succeeds("umount", "--lazy", folder)
            machine.run("mkdir", "-p", folder)

    def _unit(self, mount: S3Mount) -> str:
        escaped = self.node.machine.run("systemd-escape", "--path", mount.mount_path)
        return f"slurmpod-s3-{escaped.strip()}"


_FIX = (
    "check that the execution role may list the bucket and read its objects, and that the bucket"
    " is reachable from the nodes"
)


def service(mount: S3Mount) -> str:
    """Return the unit that mounts a bucket at a folder, for users other than root too.

    When Mountpoint dies, its mount stays behind, and Mountpoint does not start over it.
    """
    options = ["--allow-other"]
    options += ["--read-only"] if mount.read_only else []
    options += [f"--prefix={mount.prefix}"] if mount.prefix else []
    options += ["--sse=aws:kms", f"--sse-kms-key-id={mount.kms_key_arn}"] * bool(mount.kms_key_arn)
    words = [COMMAND, *options, mount.bucket, mount.mount_path]
    folder = units.quoted(mount.mount_path)
    return f"""\
# Written by slurmpod's lifecycle scripts.
[Unit]
Description=Bucket {mount.bucket} at {mount.mount_path}
Wants=network-online.target
After=network-online.target

[Service]
Type=forking
ExecStart={" ".join(map(units.quoted, words))}
ExecStop=/bin/umount {folder}
ExecStopPost=-/bin/umount --lazy {folder}
Restart=on-failure
RestartSec=10

[Install]
WantedBy=remote-fs.target
"""
