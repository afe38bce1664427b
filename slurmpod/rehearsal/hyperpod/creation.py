"""One creation of a cluster: a thread per node, ordered as observed on real clusters.

Controllers come first. Where their scripts start Slurm, every instance boots, the controllers'
scripts start, slurm.conf appears while they run, then the other nodes' scripts start; where
HyperPod starts it, the others wait until the controller is ready. One node that fails makes the
creation fail, unless nodes are provisioned continuously: then the cluster is in service with a
controller and a login node, and the others follow.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from functools import partial
from threading import BrokenBarrierError

from embedded_aws.cluster import ClusterFailed, ClusterNode
from slurmpod.rehearsal.hyperpod.cluster_agent import write_slurm_configuration
from slurmpod.rehearsal.hyperpod.cluster_run import ClusterRun
from slurmpod.rehearsal.hyperpod.continuous import ContinuousProvisioning

CREATION_STARTS = "creation starts"
IN_SERVICE = "in service"
SLURM_CONF_DELAY_SECONDS = 0.5
"""How long after the start of the controller's scripts slurm.conf appears; minutes on HyperPod."""


class Creation:
    """The creation of the cluster of one run."""

    def __init__(self, run: ClusterRun, continuous: ContinuousProvisioning) -> None:
        self._run = run
        self._continuous = continuous
        self._controllers_booted = threading.Barrier(len(run.controllers) + 1)
        self._slurm_configured = threading.Event()
        self._controllers_ready = threading.Event()

    def run(self) -> None:
        """Bring nodes up until the cluster is in service; raises ClusterFailed with who failed."""
        run, settings = self._run, self._run.cluster.settings
        run.journal.note(run.cluster.name, CREATION_STARTS)
        run.output_folder.mkdir(exist_ok=True)
        others = [node for node in run.cluster.nodes if node not in run.controllers]
        first = [self._configure_slurm, self._bring_up_controllers]
        if settings.is_continuous:
            together(first, self._give_up)
            self._continuous.start(others)
            self._continuous.wait_for_login()
        else:
            together([*first, *(partial(self._bring_up, node) for node in others)], self._give_up)
        run.journal.note(run.cluster.name, IN_SERVICE)

    def _bring_up_controllers(self) -> None:
        tasks = [partial(self._bring_up_controller, node) for node in self._run.controllers]
        together(tasks, self._give_up)
        self._controllers_ready.set()

    def _bring_up_controller(self, node: ClusterNode) -> None:
        self._run.boot(node)
        self._controllers_booted.wait()
        if self._run.configures_itself(node):
            self._slurm_configured.wait()
            self._run.configure(node)
            self._controllers_ready.set()
        if not self._run.given_up.is_set():
            self._run.run_scripts(node)

    def _configure_slurm(self) -> None:
        run = self._run
        self._controllers_booted.wait()
        if not run.configures_itself(run.controllers[0]):
            time.sleep(SLURM_CONF_DELAY_SECONDS)
        if run.given_up.is_set():
            return
        write_slurm_configuration(run.machines, run.cluster, run.provisioning)
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
        """End the other nodes' scripts by taking their machines away, and let all threads end."""
        self._run.given_up.set()
        self._controllers_booted.abort()
        self._slurm_configured.set()
        self._controllers_ready.set()
        for node in list(self._run.cluster.nodes):
            self._run.power_off(node)


def together(tasks: Sequence[Callable[[], None]], give_up: Callable[[], None]) -> None:
    """Run all tasks at once and return when all are done.

    When one fails, `give_up` has to make the others end. Raises ClusterFailed with the failure
    that came first, those of nodes before all else.
    """
    if not tasks:
        return
    with ThreadPoolExecutor(max_workers=len(tasks)) as pool:
        futures = [pool.submit(task) for task in tasks]
        wait(futures, return_when=FIRST_EXCEPTION)
        first = _failures(futures)
        if first:
            give_up()
    if first:
        raise first_cause(_causes(first) or _causes(_failures(futures)) or first)


def first_cause(failures: Sequence[BaseException]) -> ClusterFailed:
    """Return what the person who deploys is told: scripts that failed before all else."""
    for failure in failures:
        if isinstance(failure, ClusterFailed):
            return failure
    return ClusterFailed(f"the rehearsal's platform failed: {failures[0]}")


def _failures(futures: Sequence[Future[None]]) -> list[BaseException]:
    return [error for future in futures if future.done() and (error := future.exception())]


def _causes(failures: Sequence[BaseException]) -> list[BaseException]:
    """Return the failures but for those of who waited for others, which say nothing."""
    return [failure for failure in failures if not isinstance(failure, BrokenBarrierError)]
