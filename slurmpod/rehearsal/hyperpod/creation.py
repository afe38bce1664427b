"""One creation of a cluster: a thread per node, ordered as observed on real clusters.

Controllers come first. If their scripts start Slurm, every instance boots, the controllers' scripts
start, slurm.conf appears while they run, then the other nodes' scripts start; if HyperPod starts
it, the others wait until the controller is ready. One failed node fails the creation, except with
continuous provisioning: then the cluster is in service once it has a controller and a login node,
and the others follow.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from functools import partial
from threading import BrokenBarrierError

from embedded_aws.cluster import ClusterFailed, ClusterNode, InstanceGroup, new_instance_id, resized
from embedded_aws.sagemaker.events import creation_ends
from slurmpod.rehearsal.hyperpod.cluster_agent import hostname
from slurmpod.rehearsal.hyperpod.cluster_run import ClusterRun
from slurmpod.rehearsal.journal_entries import CREATION_STARTS, IN_SERVICE
from slurmpod.rehearsal.nodes.errors import MachineFailed

ATTEMPTS = 3


class ContinuousProvisioning:
    """Brings up one cluster's nodes individually; failed nodes are retried.

    Source: developer guide, "Continuous provisioning for enhanced cluster operations with Slurm".
    There a node is retried indefinitely, and a group below its minimum number of nodes for three
    hours is rolled back; here a number of attempts replaces the hours.
    """

    def __init__(self, run: ClusterRun) -> None:
        self._run = run
        self._threads: list[threading.Thread] = []
        self._login_settled = threading.Event()

    def start(
        self,
        nodes: Sequence[ClusterNode],
        previous: Mapping[str, InstanceGroup] | None = None,
    ) -> None:
        """Start to bring nodes up; `previous` are the groups before an update, if it is one."""
        for name in dict.fromkeys(node.group for node in nodes):
            members = [node for node in nodes if node.group == name]
            before = (previous or {}).get(name)
            thread = threading.Thread(
                target=self._provision, args=(name, members, before), daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def wait_for_login(self) -> None:
        """Wait until a login node is up, if there is a login group; raises ClusterFailed."""
        login_group = self._run.provisioning.login_group
        if login_group is None or not self._run.cluster.members(login_group):
            return
        self._login_settled.wait()
        nodes = self._run.cluster.members(login_group)
        if not any(node.is_up for node in nodes):
            raise ClusterFailed(nodes[0].message if nodes else "No login node came up.")

    def end(self) -> None:
        """Wait until all threads have ended; the run must have been given up."""
        for thread in self._threads:
            thread.join()

    def _provision(
        self, group_name: str, nodes: Sequence[ClusterNode], before: InstanceGroup | None
    ) -> None:
        with ThreadPoolExecutor(max_workers=len(nodes)) as pool:
            list(pool.map(self._keep_trying, nodes))
        if group_name == self._run.provisioning.login_group:
            self._login_settled.set()
        if not self._run.given_up.is_set():
            self._check_minimum(group_name, nodes, before)

    def _keep_trying(self, node: ClusterNode) -> None:
        run = self._run
        for attempt in range(1, ATTEMPTS + 1):
            if not run.is_wanted(node):
                return
            try:
                with run.at_work.alone(node):
                    run.bring_up(node)
            except Exception as failure:  # noqa: BLE001 - whatever it is, it is tried again
                self._note_failure(node, attempt, failure)
            else:
                run.record(creation_ends(run.cluster, node))
                if node.group == run.provisioning.login_group:
                    self._login_settled.set()
                return

    def _note_failure(self, node: ClusterNode, attempt: int, failure: Exception) -> None:
        """Leave a node failed after its last attempt, otherwise pending as a new instance."""
        run = self._run
        run.journal.note(hostname(node), f"attempt {attempt} failed: {failure}")
        if not run.is_wanted(node):
            return
        run.power_off(node)
        node.status, node.message = "Failure", str(failure)
        run.record(creation_ends(run.cluster, node, node.message))
        if attempt < ATTEMPTS:
            node.instance_id, node.status = new_instance_id(), "Pending"

    def _check_minimum(
        self, group_name: str, nodes: Sequence[ClusterNode], before: InstanceGroup | None
    ) -> None:
        """Roll a group back if it has less than its minimum number of nodes."""
        run, cluster = self._run, self._run.cluster
        group = cluster.group(group_name)
        running = [node for node in cluster.members(group_name) if node.is_up]
        if len(running) >= group.min_instance_count:
            return
        for node in nodes:
            run.remove(node)
        target = before or resized(group, 0)
        cluster.groups = tuple(target if item is group else item for item in cluster.groups)
        run.journal.note(cluster.name, f"group {group_name} has too few nodes and is rolled back")
        with contextlib.suppress(ClusterFailed, MachineFailed):  # it may be deleted meanwhile
            run.tell_slurm()


class Creation:
    """The creation of one run's cluster; `keeps_failed` is as in HyperPod."""

    def __init__(
        self, run: ClusterRun, continuous: ContinuousProvisioning, *, keeps_failed: bool = False
    ) -> None:
        self._run = run
        self._continuous = continuous
        self._keeps_failed = keeps_failed
        self._controllers_booted = threading.Barrier(len(run.controllers) + 1)
        self._slurm_configured = threading.Event()
        self._controllers_up: list[ClusterNode] = []
        self._controllers_ready = threading.Event()
        sets_up_slurm = run.configures_itself(run.controllers[0])
        self._lists_nodes_late = run.profile.slurm_conf.nodes_after_scripts and not sets_up_slurm

    def run(self) -> None:
        """Bring nodes up until the cluster is in service; raises ClusterFailed otherwise."""
        run, settings = self._run, self._run.cluster.settings
        run.journal.note(run.cluster.name, CREATION_STARTS)
        run.output_folder.mkdir(parents=True, exist_ok=True)
        others = [node for node in run.cluster.nodes if node not in run.controllers]
        first = [partial(self._bring_up_controller, node) for node in run.controllers]
        if settings.is_continuous:
            self._together([self._configure_slurm, *first])
            self._continuous.start(others)
            self._continuous.wait_for_login()
        else:
            rest = [partial(self._bring_up, node) for node in others]
            self._together([self._configure_slurm, *first, *rest])
        run.journal.note(run.cluster.name, IN_SERVICE)

    def _together(self, tasks: Sequence[Callable[[], None]]) -> None:
        together(tasks, self._give_up, waits=not self._keeps_failed)

    def _bring_up_controller(self, node: ClusterNode) -> None:
        self._run.boot(node)
        self._controllers_booted.wait()
        if self._run.configures_itself(node):
            self._slurm_configured.wait()
        self._run.configure(node)
        if self._run.configures_itself(node):
            self._controllers_ready.set()
        if not self._run.given_up.is_set():
            self._run.run_scripts(node)
        self._controllers_up.append(node)
        if len(self._controllers_up) == len(self._run.controllers):
            if self._lists_nodes_late:
                self._run.wait_before_late_nodes()
            if self._lists_nodes_late and not self._run.given_up.is_set():
                self._run.tell_slurm()
            self._controllers_ready.set()

    def _configure_slurm(self) -> None:
        run = self._run
        self._controllers_booted.wait()
        if not run.configures_itself(run.controllers[0]):
            time.sleep(run.profile.timing.slurm_conf_milliseconds / 1000)
        if run.given_up.is_set():
            return
        run.write_slurm_configuration(with_nodes=not self._lists_nodes_late)
        run.journal.note(run.cluster.name, "slurm.conf written")
        self._slurm_configured.set()

    def _bring_up(self, node: ClusterNode) -> None:
        run = self._run
        run.boot(node)
        ready = self._controllers_ready if run.configures_itself(node) else self._slurm_configured
        ready.wait()
        if not run.given_up.is_set():
            run.configure(node)
            run.run_scripts(node)

    def _give_up(self) -> None:
        """Let all threads end; running scripts end because their machines are removed.

        If the machines are to be kept, running scripts continue.
        """
        self._run.given_up.set()
        self._controllers_booted.abort()
        self._slurm_configured.set()
        self._controllers_ready.set()
        if not self._keeps_failed:
            for node in list(self._run.cluster.nodes):
                self._run.power_off(node)


def together(
    tasks: Sequence[Callable[[], None]], give_up: Callable[[], None], *, waits: bool = True
) -> None:
    """Run all tasks at once and return when all are done.

    If one fails, `give_up` has to make the others end; it `waits` for that by default.
    Raises ClusterFailed with the first failure; failures of nodes take precedence.
    """
    if not tasks:
        return
    pool = ThreadPoolExecutor(max_workers=len(tasks))
    futures = [pool.submit(task) for task in tasks]
    wait(futures, return_when=FIRST_EXCEPTION)
    first = _failures(futures)
    if first:
        give_up()
    pool.shutdown(wait=waits)
    if first:
        raise first_cause(_causes(first) or _causes(_failures(futures)) or first)


def first_cause(failures: Sequence[BaseException]) -> ClusterFailed:
    """Return the failure to show the user: failed scripts take precedence."""
    for failure in failures:
        if isinstance(failure, ClusterFailed):
            return failure
    return ClusterFailed(f"the rehearsal's platform failed: {failures[0]}")


def _failures(futures: Sequence[Future[None]]) -> list[BaseException]:
    return [error for future in futures if future.done() and (error := future.exception())]


def _causes(failures: Sequence[BaseException]) -> list[BaseException]:
    """Return the failures except those of threads that waited for others, which are no causes."""
    return [failure for failure in failures if not isinstance(failure, BrokenBarrierError)]
