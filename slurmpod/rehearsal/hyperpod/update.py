"""Updates of a cluster in service: UpdateCluster, and UpdateClusterSoftware."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

from embedded_aws.cluster import (
    RUNNING,
    BatchSize,
    ClusterFailed,
    ClusterNode,
    InstanceGroup,
    SoftwareUpdate,
    new_node,
    staying_members,
    surplus_nodes,
)
from embedded_aws.sagemaker.events import patching_begins, patching_ends, state_change
from slurmpod.rehearsal.hyperpod.cluster_agent import check_drift, hostname
from slurmpod.rehearsal.hyperpod.cluster_run import ClusterRun
from slurmpod.rehearsal.hyperpod.creation import ContinuousProvisioning, together
from slurmpod.rehearsal.hyperpod.node_files import run_script
from slurmpod.rehearsal.hyperpod.provisioning import DownloadedBundle, Provisioning
from slurmpod.rehearsal.nodes.errors import MachineFailed


class Update:
    """The change of one run's cluster to the desired groups."""

    def __init__(
        self,
        run: ClusterRun,
        desired: tuple[InstanceGroup, ...],
        bundles: Mapping[str, DownloadedBundle],
        provisioning: Provisioning,
    ) -> None:
        self._run = run
        self._desired = desired
        self._bundles = bundles
        self._provisioning = provisioning
        self._before = {group.name: group for group in run.cluster.groups}
        self._new: list[ClusterNode] = []

    def run(self, continuous: ContinuousProvisioning) -> None:
        """Make the change and return when it is done; raises ClusterFailed after a rollback.

        With continuous provisioning it returns at once, and new nodes follow.
        """
        run, cluster = self._run, self._run.cluster
        check_drift(run.machines, cluster, run.provisioning, run.profile.slurm_conf)
        self._check_controllers()
        undo = (cluster.groups, run.bundles, run.provisioning)
        surplus = surplus_nodes(cluster, self._desired)
        try:
            self._adopt(surplus)
            late = [node for node in self._new if self._is_late(node)]
            run.tell_slurm(unlisted=late)
            if cluster.settings.is_continuous:
                continuous.start(self._new, self._before)
            else:
                together([partial(run.bring_up, node) for node in self._new], self._cut_new)
        except BaseException:
            self._undo(*undo)
            raise
        for node in surplus:
            run.remove(node)
        cluster.groups = self._desired
        if late:
            run.wait_before_late_nodes()
        if surplus or late:
            run.tell_slurm()
        run.journal.note(cluster.name, "updated")

    def _check_controllers(self) -> None:
        """Raise ClusterFailed if controllers change: slurmctld would have to start from scratch."""
        name = self._provisioning.controller_group
        counts = {group.name: group.instance_count for group in self._desired}
        if name != self._run.provisioning.controller_group or counts[name] != len(
            self._run.controllers
        ):
            raise ClusterFailed("The rehearsal's platform cannot change a cluster's controllers.")

    def _adopt(self, surplus: Collection[ClusterNode]) -> None:
        """Give the new nodes addresses; removed groups stay known until their nodes are gone."""
        run, cluster = self._run, self._run.cluster
        kept = {node.group for node in surplus} - {group.name for group in self._desired}
        cluster.groups = (*self._desired, *(self._before[name] for name in sorted(kept)))
        run.bundles = {**run.bundles, **self._bundles}
        run.provisioning = self._provisioning
        for group in self._desired:
            while len(staying_members(cluster, group.name)) < group.instance_count:
                node = new_node(cluster, group)
                self._new.append(node)
                cluster.nodes.append(node)

    def _is_late(self, node: ClusterNode) -> bool:
        """Return whether slurm.conf names a node only after its scripts have ended."""
        if self._run.cluster.settings.is_continuous or node.group in self._before:
            return False
        listed_late = self._run.profile.slurm_conf.new_groups_after_scripts
        return listed_late and not self._run.configures_itself(node)

    def _cut_new(self) -> None:
        for node in self._new:
            self._run.power_off(node)

    def _undo(
        self,
        groups: tuple[InstanceGroup, ...],
        bundles: Mapping[str, DownloadedBundle],
        provisioning: Provisioning,
    ) -> None:
        run = self._run
        for node in self._new:
            run.remove(node)
        run.cluster.groups, run.bundles, run.provisioning = groups, bundles, provisioning
        with contextlib.suppress(ClusterFailed, MachineFailed):  # Slurm may have caused the failure
            self._run.tell_slurm()


class SoftwareRollout:
    """One UpdateClusterSoftware: nodes get a root volume of the new software, batch by batch.

    Controllers come first, alone: the others' scripts need Slurm to answer. A failed node rolls
    all started nodes back to the old software, with a new root volume and another run of the
    scripts. If the rehearsal has no other, the old software is the newest one: then a failure not
    caused by the software occurs again.
    Source: developer guide, "Update the SageMaker HyperPod platform software of a cluster".
    """

    def __init__(self, run: ClusterRun, update: SoftwareUpdate) -> None:
        self._run = run
        self._update = update
        self._renewed_before = set(run.renewed_groups)

    def run(self) -> None:
        """Update all nodes and return; raises ClusterFailed after a rollback."""
        begun: list[ClusterNode] = []
        self._run.renewed_groups.update(self._update.groups)
        self._tell("InProgress")
        for group in self._update.groups:
            self._run.record(patching_begins(self._run.cluster, group, self._update.strategy))
        try:
            for batch in self._batches(self._nodes(), self._update.batch):
                begun += batch
                together([partial(self._renew, node) for node in batch], _let_others_end)
            self._make_known()
        except ClusterFailed as failure:
            self._roll_back(begun, failure)
            raise
        self._tell("Succeeded")
        for group in self._update.groups:
            self._run.record(patching_ends(self._run.cluster, group))

    def _renew(self, node: ClusterNode) -> None:
        """Put the new software on a node, in as many attempts as HyperPod makes."""
        attempts = self._run.profile.lifecycle.software_update_attempts
        for attempt in range(1, attempts + 1):
            try:
                self._run.renew(node)
            except ClusterFailed as failure:
                self._run.journal.note(hostname(node), f"attempt {attempt} failed: {failure}")
                if attempt == attempts or not self._run.is_wanted(node):
                    raise
            else:
                return

    def _nodes(self) -> list[ClusterNode]:
        """Return the nodes to update; nodes that are being created have the new software."""
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
        """Let the remaining nodes register with a controller that has lost its state.

        Without its state, slurmctld considers CLOUD nodes powered down until they do. A node
        whose slurmd does not restart is left unchanged: the update does not cover its group.
        """
        run = self._run
        if not any(node.group in self._update.groups for node in run.controllers):
            return
        for node in list(run.cluster.nodes):
            if node.group not in self._update.groups and node.status == RUNNING:
                try:
                    run_script(run.machines, hostname(node), "systemctl try-restart slurmd")
                except ClusterFailed as failure:
                    run.journal.note(hostname(node), str(failure))

    def _roll_back(self, begun: Sequence[ClusterNode], failure: ClusterFailed) -> None:
        run, succeeded = self._run, True
        run.renewed_groups = self._renewed_before
        self._tell("RollbackInProgress")
        run.cluster.status = "RollingBack"
        run.cluster.tell(state_change(run.cluster))
        run.journal.note(run.cluster.name, f"the software is rolled back: {failure}")
        for batch in self._batches(begun, self._update.rollback_batch):
            try:
                together([partial(run.renew, node) for node in batch], _let_others_end)
            except ClusterFailed:
                succeeded = False
        with contextlib.suppress(MachineFailed):  # they may have caused the failure
            self._make_known()
        self._tell("RollbackComplete" if succeeded else "Failed")
        for group in self._update.groups:
            run.record(patching_ends(run.cluster, group, str(failure)))

    def _tell(self, status: str) -> None:
        self._run.cluster.software_updates |= dict.fromkeys(self._update.groups, status)


def _let_others_end() -> None:
    """Do nothing: a failed node must not leave others half updated."""
