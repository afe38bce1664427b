"""The health monitoring agent of one cluster, and HyperPod's automatic node recovery.

It finds machines that died, nodes that slurmctld marked down, and administrators' requests: a node
in state fail (once its jobs have ended) or down (at once) whose reason is exactly `Action:Replace`
or `Action:Reboot`. The state down may end before the next look: slurmctld's log still shows it.
With NodeRecovery None, faults are only labelled; requests are always met. Source: developer guide,
"Automatic node recovery and auto-resume", "Manually replace or reboot a node using Slurm".
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator
from enum import StrEnum
from functools import partial
from math import inf

from embedded_aws.cluster import DEEP_HEALTH_CHECK, RUNNING, ClusterFailed, ClusterNode
from embedded_aws.sagemaker.events import node_health
from slurmpod.platform_profiles.profile import Resuming
from slurmpod.rehearsal.hyperpod.cluster_agent import gpu_count, hostname
from slurmpod.rehearsal.hyperpod.cluster_run import ClusterRun, write_cluster_log
from slurmpod.rehearsal.hyperpod.recovery import DeepHealthCheck, Recovery, Repair
from slurmpod.rehearsal.hyperpod.resumable_steps import ResumableSteps
from slurmpod.rehearsal.hyperpod.slurm_control import SlurmControl
from slurmpod.rehearsal.hyperpod.slurm_health import SlurmHealth
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.slurmctld_log import LogsOfControllers
from slurmpod.slurm.nodes import SlurmNode


class ResumeAction(StrEnum):
    """What happens to a failed step; the first two are words of HyperPod's own log.

    The log's word for the third, for jobs on nodes with GRES, is unknown.
    """

    RETRYSTEP = "RETRYSTEP"
    NONE = "NONE"
    REQUEUE = "REQUEUE"


POLL_SECONDS = 1.0
"""The interval between looks; HyperPod detects a fault within 5 to 30 seconds."""

_BACK_POLL_SECONDS = 0.1
"""The interval at which it checks whether a node is back for a waiting step, without Slurm."""

AUTOMATIC = "Automatic"
"""The default of NodeRecovery (developer guide)."""

INSTANCE_FAILED = "InstanceFailed"
NOT_RESPONDING = "Not responding"
"""Slurm's own reason for a node that it marks down (SlurmdTimeout)."""

MISTAKE = "the health agent continues after an unexpected error"
"""For example a full disk: whatever the error, the agent keeps watching for dead nodes."""

_log = logging.getLogger(__name__)

REQUESTS = {f"Action:{repair}": repair for repair in Repair}


class HealthAgent:
    """Watches the nodes of one run's cluster, except controllers, from `start` to the run's end."""

    def __init__(self, run: ClusterRun) -> None:
        self._run = run
        self.steps = ResumableSteps()
        self._logs = LogsOfControllers()
        self._asked: dict[str, Repair] = {}
        self._lock = threading.Lock()
        self._in_hand: set[str] = set()
        self._labelled: set[str] = set()
        self._faults: dict[str, float] = {}
        self._unfinished: dict[str, str] = {}
        self._is_back = threading.Event()
        self._accounting = SlurmHealth(run)
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Start watching, in a thread that ends when the run is given up."""
        self._begin(threading.Thread(target=self._watch, name="health-agent", daemon=True))

    def end(self) -> None:
        """Wait until all threads have ended; the run must have been given up."""
        while self._threads:  # one that ends may have started another
            self._threads.pop().join()

    def diagnose(self, job_id: str, since: float) -> ResumeAction:
        """Return what happens to a failed step of `job_id` that began at `since`.

        Only a fault of one of its nodes lets it run again, from the job's beginning if the profile
        says so, as for GPUs: Slurm cannot replace a job's node that has GRES.
        """
        self._find_dead()
        nodes = self._nodes_of(job_id)
        faulty = [node for node in nodes if self._faults.get(hostname(node), -inf) >= since]
        if not faulty or not self._is_automatic:
            return ResumeAction.NONE
        if not self._may_resume_on(*nodes):
            self._slurm.requeue(job_id)
            return ResumeAction.REQUEUE
        return ResumeAction.RETRYSTEP

    def wait_until_back(self, job_id: str) -> bool:
        """Wait until no operation on a job's nodes is in progress; return whether all run."""
        nodes = self._nodes_of(job_id)
        while self._names_in_hand() & {hostname(node) for node in nodes}:
            if self._run.given_up.wait(_BACK_POLL_SECONDS):
                return False
        return bool(nodes) and all(node.is_up for node in nodes)

    @property
    def _is_automatic(self) -> bool:
        return bool(self._run.cluster.request.get("NodeRecovery", AUTOMATIC) == AUTOMATIC)

    @property
    def _slurm(self) -> SlurmControl:
        """Slurm on a running controller, or on the first one."""
        names = [hostname(node) for node in self._run.controllers]
        alive = [name for name in names if not self._run.machines.is_off(name)]
        return SlurmControl(self._run.machines, (alive or names)[0])

    def _watch(self) -> None:
        while not self._run.given_up.wait(POLL_SECONDS) and not self._run.machines.is_closed:
            try:
                self._end_plans()
                self._find_dead()
                self._check_new()
                self._accounting.look(self._slurm.controller)
                self._ask_slurm()
                self._start_requeued_jobs()
            except (ClusterFailed, MachineFailed):
                continue  # slurmctld does not run (yet)
            except Exception:  # noqa: BLE001 - nothing else watches
                _log.exception(MISTAKE)

    def _end_plans(self) -> None:
        """Let AWS terminate the instances whose training plan has ended."""
        for node in self._watched():
            name = hostname(node)
            if self._run.cluster.lacks_plan(node.group) and not self._run.machines.is_off(name):
                self._run.journal.note(name, "AWS terminates it: its training plan has ended")
                self._run.machines.power_cut(name)

    def _find_dead(self) -> None:
        for node in self._watched():
            name = hostname(node)
            if not self._run.machines.is_off(name) or not self._is_ours(node):
                continue
            if self._run.machines.wants_reboot(name):
                # EC2 boots it, and HyperPod does not notify Slurm.
                self._take_in_hand(node, partial(self._run.reboot, node))
            else:
                self._report(node, INSTANCE_FAILED)

    def _check_new(self) -> None:
        for node in list(self._run.cluster.nodes):
            if node.status == DEEP_HEALTH_CHECK and not self._run.at_work.is_busy(node):
                self._take_in_hand(node, DeepHealthCheck(self._run, self._slurm, node).run)

    def _ask_slurm(self) -> None:
        slurm, in_hand = self._slurm, self._names_in_hand()
        states, updates = slurm.nodes_and_updates()
        for request in self._logs.new(slurm.controller, updates):
            if request.reason in REQUESTS:
                self._asked[request.node] = REQUESTS[request.reason]
        for node in self._watched():
            name = hostname(node)
            state = states.get(name)
            if state is None or name in in_hand:  # its state may be from before the repair's end
                continue
            repair = self._asked.pop(name, None) or _asked_by(state)
            if repair:
                self._run.journal.note(name, f"Action:{repair} requested")
                self._repair(node, repair)
            elif state.is_down and state.reason == NOT_RESPONDING and self._is_ours(node):
                self._report(node, NOT_RESPONDING)

    def _start_requeued_jobs(self) -> None:
        """Start the jobs that Slurm requeued, once one of their nodes is in service again.

        It waits until nothing meant for a job's first run can reach its second one: neither from
        slurmctld, nor on other nodes, which may take long to end the first one.
        """
        slurm = self._slurm
        if not self._is_back.is_set() or slurm.is_telling_nodes():
            return
        are_ending = slurm.is_ending_jobs()
        slurm.start_requeued_jobs()
        if not are_ending:
            self._is_back.clear()

    def _report(self, node: ClusterNode, reason: str) -> None:
        """Report that a node is faulty, and replace it if HyperPod does so automatically."""
        name = hostname(node)
        with self._lock:
            if name in self._in_hand or node.instance_id in self._labelled:
                return
            self._labelled.add(node.instance_id)
            self._faults[name] = time.monotonic()
        repair = Repair.REPLACE if self._is_automatic else "None"
        try:
            self._run.journal.note(name, f"faulty: {reason}; repair: {repair}")
        except OSError:
            self._labelled.discard(node.instance_id)  # not reported yet
            raise
        finding = {"reason": reason, "HealthMonitoringAgentDetectionEvent": "HealthEvent"}
        stream = f"SagemakerHealthMonitoringAgent/{node.group}/{node.instance_id}"
        write_cluster_log(self._run, node, stream, json.dumps(finding))
        self._run.cluster.tell(
            node_health(self._run.cluster, node, reason=reason, repair=str(repair))
        )
        if self._is_automatic:
            self._repair(node, Repair.REPLACE)

    def _repair(self, node: ClusterNode, repair: Repair) -> None:
        self._take_in_hand(node, lambda: self._recover(node, repair))

    def _recover(self, node: ClusterNode, repair: Repair) -> None:
        if self._run.machines.is_off(hostname(node)):
            self._take_from_slurm(node)
        if Recovery(self._run, self._slurm, node).run(repair):
            self._is_back.set()

    def _take_in_hand(self, node: ClusterNode, work: Callable[[], object]) -> None:
        """Start work on a node, unless some is in progress."""
        name = hostname(node)
        with self._lock:
            if name in self._in_hand:
                return
            self._in_hand.add(name)
        thread = threading.Thread(target=self._work, args=(name, work), daemon=True)
        self._begin(thread)

    def _work(self, name: str, work: Callable[[], object]) -> None:
        try:
            work()
        except (ClusterFailed, MachineFailed) as failure:
            self._note_unfinished(name, str(failure))
        except Exception:  # noqa: BLE001 - a thread's last resort
            _log.exception(MISTAKE)
        else:
            self._unfinished.pop(name, None)
        finally:
            with self._lock:
                self._in_hand.discard(name)

    def _note_unfinished(self, name: str, reason: str) -> None:
        """Record once why work on a node could not be finished, however often it is retried."""
        if self._unfinished.get(name) != reason:
            self._unfinished[name] = reason
            self._run.journal.note(name, f"not finished: {reason}")

    def _names_in_hand(self) -> set[str]:
        with self._lock:
            return set(self._in_hand)

    def _take_from_slurm(self, node: ClusterNode) -> None:
        """Let Slurm end or requeue the jobs of a dead node now, and start no others there.

        If a step is to wait for the replacement, the step is notified instead: marking the node
        down would end the whole job.
        """
        name = hostname(node)
        self.steps.forget_those_on(name)
        try:
            jobs = self._slurm.jobs_on(name)
            if self.steps.jobs.isdisjoint(jobs) or not self._may_resume_on(node):
                self._slurm.set_node(name, "down", f"HyperPod: {INSTANCE_FAILED}")
            else:
                self.steps.lose(jobs, name)
        except (ClusterFailed, MachineFailed) as failure:
            self._run.journal.note(name, f"slurmctld was not notified: {failure}")

    def _may_resume_on(self, *nodes: ClusterNode) -> bool:
        """Return whether a step on these nodes may run again in its job.

        HyperPod removes a faulty node from a job, and merges a second job with the new node into
        it; here the node stays in the job, which slurmctld has to tolerate.
        """
        in_place = self._run.profile.auto_resume.in_place
        has_gpus = any(gpu_count(node.instance_type) for node in nodes)
        if in_place is Resuming.NONE or (in_place is Resuming.WITHOUT_GPUS and has_gpus):
            return False
        return self._slurm.keeps_jobs_of_rebooted_nodes()

    def _nodes_of(self, job_id: str) -> list[ClusterNode]:
        names: Collection[str] = self._slurm.nodes_of(job_id)
        return [node for node in list(self._run.cluster.nodes) if hostname(node) in names]

    def _watched(self) -> Iterator[ClusterNode]:
        controllers = self._run.controllers
        for node in list(self._run.cluster.nodes):
            if node.status == RUNNING and node not in controllers:
                yield node

    def _is_ours(self, node: ClusterNode) -> bool:
        """Return whether no operation on a node is in progress that would explain its state."""
        return not self._run.at_work.is_busy(node) and self._run.is_wanted(node)

    def _begin(self, thread: threading.Thread) -> None:
        with self._lock:  # a thread that has not started cannot be joined
            thread.start()
            self._threads = [*filter(threading.Thread.is_alive, self._threads), thread]


def _asked_by(state: SlurmNode) -> Repair | None:
    """Return the repair that an administrator requests for a node now, if any."""
    is_time = state.is_down or ("FAIL" in state.state and state.is_free)
    return REQUESTS.get(state.reason) if is_time else None
