"""What the API does to single nodes of a cluster in service: delete, reboot and replace them.

Each node is accepted or refused for itself; the work goes on in the background, and the cluster
stays in service.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.events.happenings import group_scales
from slurmpod.rehearsal.cloud.events.hyperpod import record
from slurmpod.rehearsal.cloud.instances import resized
from slurmpod.rehearsal.cloud.sagemaker.background import StillAtWork, in_background, reason
from slurmpod.rehearsal.cloud.sagemaker.node_choice import (
    DELETION,
    REBOOT,
    REPLACEMENT,
    Choice,
    Operation,
    choose,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from slurmpod.rehearsal.cloud.platform import Cluster, ClusterNode, ClusterPlatform
    from slurmpod.rehearsal.cloud.sagemaker.clusters import Clusters

Shape = dict[str, Any]


class NodeOperations:
    """The operations on the nodes of all clusters."""

    def __init__(self, clusters: Clusters, platform: ClusterPlatform) -> None:
        self._clusters = clusters
        self._platform = platform

    def delete(self, region: str, given: Mapping[str, Any]) -> Shape:
        """Answer BatchDeleteClusterNodes: the groups are smaller at once, the nodes go."""
        cluster = self._clusters.find(region, given["ClusterName"])
        with self._clusters.lock:
            choice = self._choose(cluster, given, DELETION)
            for node in choice.nodes:
                node.is_leaving, node.status = True, "ShuttingDown"
            shrunk = _shrink(cluster, choice.nodes)
        for name in shrunk:
            record(cluster, group_scales(cluster, cluster.group(name)))
        if choice.nodes:
            _work("node deletion", cluster, partial(self._platform.remove, cluster, choice.nodes))
        return choice.answer

    def reboot(self, region: str, given: Mapping[str, Any]) -> Shape:
        """Answer BatchRebootClusterNodes."""
        return self._start_anew(region, given, REBOOT, self._platform.reboot)

    def replace(self, region: str, given: Mapping[str, Any]) -> Shape:
        """Answer BatchReplaceClusterNodes."""
        return self._start_anew(region, given, REPLACEMENT, self._platform.replace)

    def _start_anew(
        self,
        region: str,
        given: Mapping[str, Any],
        operation: Operation,
        do: Callable[[Cluster, ClusterNode], None],
    ) -> Shape:
        """Let nodes come up again in some way, all at once."""
        cluster = self._clusters.find(region, given["ClusterName"])
        with self._clusters.lock:
            choice = self._choose(cluster, given, operation)
            for node in choice.nodes:
                node.status, node.message = "Pending", ""
        for node in choice.nodes:
            in_turn = partial(_in_turn, do, cluster, node, node.instance_id)
            _work(operation.api_name, cluster, in_turn)
        return choice.answer

    def _choose(self, cluster: Cluster, given: Mapping[str, Any], operation: Operation) -> Choice:
        is_at_rest = self._clusters.is_at_rest(cluster)
        return choose(cluster, given, operation, is_at_rest=is_at_rest)


def _shrink(cluster: Cluster, leaving: Sequence[ClusterNode]) -> Sequence[str]:
    """Make groups smaller by the nodes that leave, and return the names of these groups."""
    fewer = Counter(node.group for node in leaving)
    cluster.groups = tuple(
        resized(group, max(0, group.instance_count - fewer[group.name]))
        if fewer[group.name]
        else group
        for group in cluster.groups
    )
    return list(fewer)


def _in_turn(
    do: Callable[[Cluster, ClusterNode], None],
    cluster: Cluster,
    node: ClusterNode,
    instance_id: str,
) -> None:
    """Do to a node what was promised, as soon as nothing else is being done to it.

    A node runs a little before what was done to it has ended, and the health monitoring agent does
    not ask the API. Not to an instance that has gone meanwhile: whoever replaced it did the work.
    """
    while node.instance_id == instance_id:
        try:
            do(cluster, node)
        except StillAtWork as busy:
            busy.wait()
        else:
            return


def _work(what: str, cluster: Cluster, do: Callable[[], None]) -> None:
    """Do the work; how it ends, the nodes and the cluster's events tell."""

    def work() -> None:
        try:
            do()
        except Exception as error:  # noqa: BLE001 - a thread's last resort
            reason(error, f"{what} of cluster {cluster.name}")

    in_background(f"{what}-{cluster.name}", work)
