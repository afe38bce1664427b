"""Deep health checks of new nodes: nobody else gets a node before it has passed them.

Source: developer guide, "Deep health checks" of clusters with Slurm. Of the tests there only the
count of GPUs is made, by a job on the node as on HyperPod; the others would need hardware, and take
an hour or more.
"""

from __future__ import annotations

import shlex
from datetime import UTC, datetime

from embedded_aws.cluster import RUNNING, ClusterFailed, ClusterNode
from slurmpod.rehearsal.hyperpod.cluster_agent import gpu_count, hostname
from slurmpod.rehearsal.hyperpod.cluster_run import ClusterRun, write_cluster_log
from slurmpod.rehearsal.hyperpod.node_commands import run_script
from slurmpod.rehearsal.hyperpod.slurm_control import Isolation, SlurmControl

PLACE = Isolation(
    reservation="hyperpod-deep-health-check",
    partition="hyperpod-system-maintenance",
    feature="SageMakerDeepHealthCheck:InProgress",
)
LOG = "/var/log/aws/clusters/sagemaker-deep-health-check.log"
ATTEMPTS = 3
"""How many instances in one place may fail the checks before the node is in status Failure."""

_COUNT_GPUS = "ls /dev | grep -c '^nvidia[0-9]' || true"


class DeepHealthCheck:
    """The checks of one node that is in status DeepHealthCheckInProgress."""

    def __init__(self, run: ClusterRun, slurm: SlurmControl, node: ClusterNode) -> None:
        self._run = run
        self._slurm = slurm
        self._node = node
        self._name = hostname(node)

    def isolate(self) -> None:
        """Keep jobs away from the node; it stays so until it has passed."""
        self._slurm.isolate(self._name, PLACE)

    def run(self) -> bool:
        """Check the node, and others in its place while they fail; tell whether one passed.

        Raises ClusterFailed or MachineFailed when a check could not be made; the node stays as it
        is, for another try.
        """
        for _ in range(ATTEMPTS):
            self.isolate()
            if self._passes():
                self._slurm.release(self._name, PLACE)
                self._node.status = RUNNING
                return True
            self._run.replace(self._node)
        self._node.status, self._node.message = "Failure", "Deep health checks failed."
        return False

    def _passes(self) -> bool:
        fault = self._fault()
        if fault:
            self._log(f"error  Encountered FaultyInstance. Replace the Instance. {fault}")
        else:
            self._log("info  GpuPci Count check success")
        return not fault

    def _fault(self) -> str:
        """Return what is wrong with the node; nothing when all is well."""
        expected = gpu_count(self._node.instance_type)
        try:
            found = int(self._slurm.run_on(self._name, _COUNT_GPUS, PLACE))
        except ClusterFailed as failure:
            return str(failure)
        if found != expected:
            kind = self._node.instance_type
            return f"InstanceType: {kind}. ERROR: {found} GPUs of {expected}"
        return ""

    def _log(self, message: str) -> None:
        """Write to the node's log and to CloudWatch Logs what was found."""
        line = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}  {message}"
        self._run.journal.note(self._name, message)
        run_script(self._run.machines, self._name, f"echo {shlex.quote(line)} >> {LOG}")
        stream = f"DeepHealthCheckResults/{self._node.instance_id}"
        write_cluster_log(self._run, self._node, stream, line)
