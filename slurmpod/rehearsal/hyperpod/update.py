"""One UpdateCluster: groups and nodes that come, change and go, on a cluster that runs.

New nodes first; when one of them fails, all new ones go and everything is as it was. Nodes of
groups that existed are in slurm.conf before their scripts run, those of a group that is new and has
OnCreate scripts when these have ended, as observed on real clusters. Scripts and storage that
changed concern new nodes only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from functools import partial

from embedded_aws.cluster import (
    ClusterFailed,
    ClusterNode,
    InstanceGroup,
    new_node,
    staying_members,
    surplus_nodes,
)
from slurmpod.rehearsal.hyperpod.bundles import DownloadedBundle
from slurmpod.rehearsal.hyperpod.cluster_agent import check_drift
from slurmpod.rehearsal.hyperpod.cluster_run import ClusterRun
from slurmpod.rehearsal.hyperpod.continuous import ContinuousProvisioning
from slurmpod.rehearsal.hyperpod.creation import together
from slurmpod.rehearsal.hyperpod.provisioning import Provisioning
from slurmpod.rehearsal.nodes.errors import MachineFailed


class Update:
    """The change of one run's cluster to the groups that are desired."""

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
        """Make the change and return when it is made; raises ClusterFailed after undoing it.

        Under continuous provisioning it returns at once, and new nodes follow.
        """
        run, cluster = self._run, self._run.cluster
        check_drift(run.machines, cluster, run.provisioning)
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
        if surplus or late:
            run.tell_slurm()
        run.journal.note(cluster.name, "updated")

    def _check_controllers(self) -> None:
        """Raise ClusterFailed for other controllers: slurmctld would have to start anew."""
        name = self._provisioning.controller_group
        counts = {group.name: group.instance_count for group in self._desired}
        if name != self._run.provisioning.controller_group or counts[name] != len(
            self._run.controllers
        ):
            raise ClusterFailed("The rehearsal's platform cannot change a cluster's controllers.")

    def _adopt(self, surplus: Collection[ClusterNode]) -> None:
        """Give the new nodes addresses; groups that go stay known until their nodes are gone."""
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
        """Tell whether slurm.conf is to name a node only when its scripts have ended."""
        if self._run.cluster.settings.is_continuous or node.group in self._before:
            return False
        return not self._run.configures_itself(node)

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
        with contextlib.suppress(ClusterFailed, MachineFailed):  # Slurm may be what failed
            self._run.tell_slurm()
