"""Rotation of Slurm's logs and ours with the image's logrotate, so that they do not fill the disk.

Slurm's files are rotated as slurm.conf(5) describes under LOGGING: at SIGUSR2 the daemons open new
ones. HyperPod rotates the same files where it set up Slurm itself (SageMaker AI developer guide,
"Slurm log rotations"). logrotate rejects a file that two configurations name, so the first one to
name a file in /var/log/slurm keeps all of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.step import CommandFailed, StepFailed

LOGROTATE = "/usr/sbin/logrotate"
FOLDER = "/etc/logrotate.d"
NAME = "slurmpod"
PATH = f"{FOLDER}/{NAME}"
CANDIDATE = "/etc/slurmpod/logrotate.conf"

OTHERS_ROTATE_SLURM = (
    "grep",
    "--quiet",
    "--recursive",
    f"--exclude={NAME}",
    "^[^#]*/var/log/slurm/",
    FOLDER,
)

SLURM_LOGS = """
/var/log/slurm/*.log {
    size 50M
    rotate 4
    missingok
    notifempty
    create
    compress
    delaycompress
    sharedscripts
    postrotate
        for daemon in slurmctld slurmd slurmdbd; do
            pkill --exact --signal SIGUSR2 "$daemon" || true
        done
    endscript
}
"""
OWN_LOGS = """
/var/log/provision/*.log {
    size 10M
    rotate 4
    missingok
    notifempty
    copytruncate
    compress
    delaycompress
}
"""
"""Written by `tee` while the scripts run, so they cannot be renamed."""


class LogRotation(NodeStep):
    """logrotate knows the files; the image's timer runs it every day."""

    name = "log_rotation"
    roles = frozenset(Role)
    required = False

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether the environment leaves log rotation to these scripts."""
        return super().applies_to(node) and node.settings.node.rotate_logs

    @classmethod
    def files_without(cls, machine: Machine) -> Mapping[str, str | None]:
        """Return the removal of its file."""
        del machine
        return {PATH: None, CANDIDATE: None}

    def is_done(self) -> bool:
        """Return whether logrotate has our configuration."""
        return self.node.machine.read(PATH) == self._text()

    def apply(self) -> str:
        """Let logrotate check the configuration, then install it."""
        machine, text = self.node.machine, self._text()
        machine.write(CANDIDATE, text)
        try:
            machine.run(LOGROTATE, "--debug", CANDIDATE)
        except CommandFailed as error:
            raise StepFailed(error.reason, "report it, with the log of the node") from None
        machine.write(PATH, text)
        return "Slurm's logs and ours" if SLURM_LOGS in text else "our logs; others rotate Slurm's"

    def _text(self) -> str:
        slurm_logs = "" if self.node.machine.succeeds(*OTHERS_ROTATE_SLURM) else SLURM_LOGS
        return f"# Written by slurmpod's lifecycle scripts.\n{slurm_logs}{OWN_LOGS}"
