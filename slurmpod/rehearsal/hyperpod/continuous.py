"""Continuous provisioning: nodes come up one by one, and those that do not are tried again.

Source: developer guide, "Continuous provisioning for enhanced cluster operations with Slurm".
There a node is tried without end, and a group that lacks its smallest number of nodes for three
hours goes back to what it was; here the number of attempts takes the place of the hours.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from embedded_aws.cluster import ClusterFailed, ClusterNode, InstanceGroup, new_instance_id, resized
from embedded_aws.sagemaker.events import creation_ends
from slurmpod.rehearsal.hyperpod.cluster_agent import hostname
from slurmpod.rehearsal.hyperpod.cluster_run import ClusterRun
from slurmpod.rehearsal.nodes.errors import MachineFailed

ATTEMPTS = 3


class ContinuousProvisioning:
    """The nodes of one cluster that come up in the background."""

    def __init__(self, run: ClusterRun) -> None:
        self._run = run
        self._threads: list[threading.Thread] = []
        self._login_settled = threading.Event()

    def start(
        self,
        nodes: Sequence[ClusterNode],
        previous: Mapping[str, InstanceGroup] | None = None,
    ) -> None:
        """Begin to bring nodes up; `previous` are the groups as they were before, if they were."""
        for name in dict.fromkeys(node.group for node in nodes):
            members = [node for node in nodes if node.group == name]
            before = (previous or {}).get(name)
            thread = threading.Thread(
                target=self._provision, args=(name, members, before), daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def wait_for_login(self) -> None:
        """Return when a login node is up, if there is a group of them; raises ClusterFailed."""
        login_group = self._run.provisioning.login_group
        if login_group is None or not self._run.cluster.members(login_group):
            return
        self._login_settled.wait()
        nodes = self._run.cluster.members(login_group)
        if not any(node.is_up for node in nodes):
            raise ClusterFailed(nodes[0].message if nodes else "No login node came up.")

    def end(self) -> None:
        """Wait until nothing is under way any more; the run has to be given up."""
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
        """Leave a node failed after its last attempt, else pending as a new instance."""
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
        """Take a group back to what it was when it has less than its smallest number of nodes."""
        run, cluster = self._run, self._run.cluster
        group = cluster.group(group_name)
        running = [node for node in cluster.members(group_name) if node.is_up]
        if len(running) >= group.min_instance_count:
            return
        for node in nodes:
            run.remove(node)
        target = before or resized(group, 0)
        cluster.groups = tuple(target if item is group else item for item in cluster.groups)
        run.journal.note(cluster.name, f"group {group_name} has too few nodes and is taken back")
        with contextlib.suppress(ClusterFailed, MachineFailed):  # the cluster may go meanwhile
            run.tell_slurm()
