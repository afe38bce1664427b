"""One UpdateClusterSoftware: nodes get a root volume of the new software, batch by batch.

Controllers come first, alone: the others' scripts want Slurm to answer. A node that fails takes all
nodes that were begun back to the old software, which means a fresh root volume and the scripts once
more; the rehearsal has but one software, so what fails for a reason of its own fails again.
Source: developer guide, "Update the SageMaker HyperPod platform software of a cluster".
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import partial

from embedded_aws.cluster import RUNNING, BatchSize, ClusterFailed, ClusterNode, SoftwareUpdate
from embedded_aws.sagemaker.events import patching_begins, patching_ends, state_change
from slurmpod.rehearsal.hyperpod.cluster_agent import hostname
from slurmpod.rehearsal.hyperpod.cluster_run import ClusterRun
from slurmpod.rehearsal.hyperpod.creation import together
from slurmpod.rehearsal.hyperpod.node_commands import run_script
from slurmpod.rehearsal.nodes.errors import MachineFailed


class SoftwareRollout:
    """The update of one run's cluster."""

    def __init__(self, run: ClusterRun, update: SoftwareUpdate) -> None:
        self._run = run
        self._update = update

    def run(self) -> None:
        """Update all nodes and return; raises ClusterFailed after going back."""
        begun: list[ClusterNode] = []
        self._tell("InProgress")
        for group in self._update.groups:
            self._run.record(patching_begins(self._run.cluster, group, self._update.strategy))
        try:
            for batch in self._batches(self._nodes(), self._update.batch):
                begun += batch
                together([partial(self._run.renew, node) for node in batch], _let_others_end)
            self._make_known()
        except ClusterFailed as failure:
            self._roll_back(begun, failure)
            raise
        self._tell("Succeeded")
        for group in self._update.groups:
            self._run.record(patching_ends(self._run.cluster, group))

    def _nodes(self) -> list[ClusterNode]:
        """Return the nodes to update; those that are just coming up have the new software."""
        return [
            node
            for node in list(self._run.cluster.nodes)
            if node.group in self._update.groups and node.status in (RUNNING, "Failure")
        ]

    def _batches(
        self, nodes: Sequence[ClusterNode], size: BatchSize
    ) -> Iterator[Sequence[ClusterNode]]:
        controllers = [node for node in nodes if node in self._run.controllers]
        yield from ([node] for node in controllers)
        others = [node for node in nodes if node not in controllers]
        length = size.of(len(self._run.cluster.nodes))
        for first in range(0, len(others), length):
            yield others[first : first + length]

    def _make_known(self) -> None:
        """Let the nodes that stayed register with a controller that has forgotten them.

        A slurmctld without its state holds nodes of state CLOUD for switched off until they do.
        """
        run = self._run
        if not any(node.group in self._update.groups for node in run.controllers):
            return
        for node in list(run.cluster.nodes):
            if node.group not in self._update.groups and node.status == RUNNING:
                run_script(run.machines, hostname(node), "systemctl try-restart slurmd")

    def _roll_back(self, begun: Sequence[ClusterNode], failure: ClusterFailed) -> None:
        run, succeeded = self._run, True
        self._tell("RollbackInProgress")
        run.cluster.status = "RollingBack"
        run.cluster.tell(state_change(run.cluster))
        run.journal.note(run.cluster.name, f"the software goes back: {failure}")
        for batch in self._batches(begun, self._update.rollback_batch):
            try:
                together([partial(run.renew, node) for node in batch], _let_others_end)
            except ClusterFailed:
                succeeded = False
        with contextlib.suppress(ClusterFailed, MachineFailed):  # they may be what failed
            self._make_known()
        self._tell("RollbackComplete" if succeeded else "Failed")
        for group in self._update.groups:
            run.record(patching_ends(run.cluster, group, str(failure)))

    def _tell(self, status: str) -> None:
        self._run.cluster.software_updates |= dict.fromkeys(self._update.groups, status)


def _let_others_end() -> None:
    """Do nothing: a node that fails is no reason to leave others half updated."""
