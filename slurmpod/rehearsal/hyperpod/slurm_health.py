"""Health events of Slurm's accounting daemon, for clusters with continuous provisioning.

Source: API reference, SlurmHealthMetadata. HyperPod's check interval is unknown.
"""

from __future__ import annotations

import time

from embedded_aws.sagemaker.events import slurmdbd_health
from slurmpod.rehearsal.hyperpod.cluster_run import ClusterRun
from slurmpod.rehearsal.hyperpod.node_files import run_command
from slurmpod.rehearsal.hyperpod.slurm_conf import SLURM_ETC

LOOK_SECONDS = 3.0
SAME_LOOKS = 2
"""A daemon that is being restarted, as by scripts, is not unhealthy."""

HEALTHY = "Healthy"
_LOOK = f"""\
[ -e {SLURM_ETC}/slurmdbd.conf ] || exit 0
systemctl is-active --quiet slurmdbd || {{ echo DaemonDown; exit; }}
timeout 5 sacctmgr --noheader show cluster >/dev/null 2>&1 || {{ echo DbUnreachable; exit; }}
systemctl is-enabled --quiet slurmdbd || {{ echo DaemonDisabled; exit; }}
echo {HEALTHY}
"""
"""It queries the daemon: MariaDB blocks a host after too many incomplete connections."""


class SlurmHealth:
    """Checks slurmdbd, and reports changes of its health.

    Nothing is reported until it was healthy for the first time.
    """

    def __init__(self, run: ClusterRun) -> None:
        self._run = run
        self._next_look = 0.0
        self._seen = ("", 0)
        self._told = ""

    def look(self, controller: str) -> None:
        """Check the daemon on a controller if it is due; raises what its commands raise."""
        if time.monotonic() < self._next_look or not self._run.cluster.settings.is_continuous:
            return
        self._next_look = time.monotonic() + LOOK_SECONDS
        found = run_command(self._run.machines, controller, ["sh", "-c", _LOOK]).decode().strip()
        before, looks = self._seen
        self._seen = (found, looks + 1 if found == before else 1)
        if self._seen[1] >= SAME_LOOKS:
            self._tell(found)

    def _tell(self, found: str) -> None:
        if found in ("", self._told):
            return
        if self._told:
            reason = None if found == HEALTHY else found
            self._run.record(slurmdbd_health(self._run.cluster, reason))
        if self._told or found == HEALTHY:
            self._told = found
