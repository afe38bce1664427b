"""One faulty node until it is in service again: replaced or rebooted, and returned to Slurm."""

from __future__ import annotations

import contextlib
import shlex
import time
from datetime import UTC, datetime
from enum import StrEnum

from embedded_aws.cluster import DEEP_HEALTH_CHECK, RUNNING, ClusterFailed, ClusterNode
from slurmpod.rehearsal.hyperpod.cluster_agent import gpu_count, hostname
from slurmpod.rehearsal.hyperpod.cluster_run import ClusterRun, write_cluster_log
from slurmpod.rehearsal.hyperpod.node_files import run_script
from slurmpod.rehearsal.hyperpod.nodes_at_work import NodeBusy
from slurmpod.rehearsal.hyperpod.slurm_control import Isolation, SlurmControl
from slurmpod.rehearsal.nodes.errors import MachineFailed

PLACE = Isolation(
    reservation="hyperpod-deep-health-check",
    partition="hyperpod-system-maintenance",
    feature="SageMakerDeepHealthCheck:InProgress",
)
CHECK_ATTEMPTS = 3
"""How many instances of a node may fail the checks before its status is Failure."""

REBOOTED = "Node unexpectedly rebooted"
"""Slurm's own reason for a node that has booted since its last answer (ReturnToService)."""

_COUNT_GPUS = "ls /dev | grep -c '^nvidia[0-9]' || true"


class DeepHealthCheck:
    """The checks of one node in status DeepHealthCheckInProgress.

    No job gets a node before it has passed them. Source: developer guide, "Deep health checks" of
    clusters with Slurm. Of those tests only the GPU count runs here, as a job on the node, as on
    HyperPod; the others would need hardware, and take an hour or more.
    """

    def __init__(self, run: ClusterRun, slurm: SlurmControl, node: ClusterNode) -> None:
        self._run = run
        self._slurm = slurm
        self._node = node
        self._name = hostname(node)

    def isolate(self) -> None:
        """Keep jobs off the node until it has passed."""
        self._slurm.isolate(self._name, PLACE)

    def run(self) -> bool:
        """Check the node and, while checks fail, its replacements; return whether one passed.

        Raises ClusterFailed or MachineFailed if a check could not run; the node stays unchanged for
        another try, which knows how many instances have failed before.
        """
        while self._node.failed_checks < CHECK_ATTEMPTS:
            self.isolate()
            self._resume()
            if self._passes():
                self._node.failed_checks = 0
                self._slurm.release(self._name, PLACE)
                self._node.status = RUNNING
                return True
            self._node.failed_checks += 1
            self._run.replace(self._node)
        self._node.failed_checks = 0
        self._node.status, self._node.message = "Failure", "Deep health checks failed."
        return False

    def _resume(self) -> None:
        """Undo that slurmctld marked the node down, now that it has a new instance."""
        state = self._slurm.nodes().get(self._name)
        if state is not None and state.is_down and state.reason == REBOOTED:
            self._slurm.set_node(self._name, "resume")

    def _passes(self) -> bool:
        fault = self._fault()
        if fault:
            self._log(f"error  Encountered FaultyInstance. Replace the Instance. {fault}")
        else:
            self._log("info  GpuPci Count check success")
        return not fault

    def _fault(self) -> str:
        """Return the fault of the node; empty without a fault.

        A check that finds no room on the node, or gets no answer, proves nothing about its GPUs.
        """
        expected = gpu_count(self._node.instance_type)
        found = int(self._slurm.run_on(self._name, _COUNT_GPUS, PLACE))
        if found != expected:
            kind = self._node.instance_type
            return f"InstanceType: {kind}. ERROR: {found} GPUs of {expected}"
        return ""

    def _log(self, message: str) -> None:
        """Write a result to the node's log and to CloudWatch Logs."""
        line = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}  {message}"
        self._run.journal.note(self._name, message)
        log = self._run.profile.agents.logs.deep_health_check
        run_script(self._run.machines, self._name, f"echo {shlex.quote(line)} >> {log}")
        stream = f"DeepHealthCheckResults/{self._node.instance_id}"
        write_cluster_log(self._run, self._node, stream, line)


ATTEMPTS = 3
"""How many replacements of a node may fail before its status is Failure."""

_REGISTRATION_SECONDS = 60.0
_POLL_SECONDS = 0.2


class Repair(StrEnum):
    """The remedy for a faulty node, in HyperPod's words."""

    REPLACE = "Replace"
    REBOOT = "Reboot"


class Recovery:
    """The repair of one node; at its end, jobs run there or the node has failed permanently."""

    def __init__(self, run: ClusterRun, slurm: SlurmControl, node: ClusterNode) -> None:
        self._run = run
        self._slurm = slurm
        self._node = node
        self._name = hostname(node)

    def run(self, repair: Repair) -> bool:
        """Repair the node, return whether it accepts jobs; a failed reboot becomes a replacement.

        Raises ClusterFailed or MachineFailed if it is repaired and Slurm cannot be updated.
        """
        started_before = self._slurmd_started()
        return self._is_repaired(repair) and self._gives_back(started_before)

    def _is_repaired(self, repair: Repair) -> bool:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._repair(repair if attempt == 1 else Repair.REPLACE)
            except ClusterFailed as failure:
                if not self._run.is_wanted(self._node):
                    return False
                self._note(f"attempt {attempt} to {repair.lower()} failed: {failure}")
            else:
                return True
        self._note(f"stays out of service: {ATTEMPTS} attempts failed")
        return False

    def _repair(self, repair: Repair) -> None:
        """Repair the node, unless an API request does so at the same time.

        If the node is still faulty after that request, it is repaired.
        """
        do = self._run.reboot if repair is Repair.REBOOT else self._run.replace
        try:
            do(self._node)
        except NodeBusy:
            self._run.at_work.wait_for(self._node)
            if not self._node.is_up:
                self._repair(repair)

    def _gives_back(self, started_before: str) -> bool:
        """Return the node to Slurm once it has passed its group's checks."""
        checks = DeepHealthCheck(self._run, self._slurm, self._node)
        if self._node.status == DEEP_HEALTH_CHECK:
            with contextlib.suppress(ClusterFailed, MachineFailed):  # the checks try again
                checks.isolate()
        if not self._has_registered(started_before):
            if self._run.is_wanted(self._node):
                self._note("did not register with slurmctld")
            return False
        if self._node.status == DEEP_HEALTH_CHECK and not checks.run():
            return False
        self._note("is in service again")
        return True

    def _has_registered(self, started_before: str) -> bool:
        """Wait until the node's new slurmd has registered, and clear the state of the repair."""
        deadline = time.monotonic() + _REGISTRATION_SECONDS
        while self._run.is_wanted(self._node) and time.monotonic() < deadline:
            # slurmctld does not answer, or the node's state has just changed
            with contextlib.suppress(ClusterFailed, MachineFailed):
                if self._is_in_service(started_before):
                    return True
            self._run.given_up.wait(_POLL_SECONDS)
        return False

    def _is_in_service(self, started_before: str) -> bool:
        state = self._slurm.nodes().get(self._name)
        if state is None:
            return True  # nothing for Slurm: it does not name the node
        if not state.answers or state.started == started_before:
            return False
        if state.is_held:  # once: a later state is not from before the repair
            self._slurm.set_node(self._name, "resume")
        return True

    def _slurmd_started(self) -> str:
        try:
            state = self._slurm.nodes().get(self._name)
        except (ClusterFailed, MachineFailed):
            return ""
        return state.started if state else ""

    def _note(self, what: str) -> None:
        self._run.journal.note(self._name, what)
