"""Operations on several nodes of a live cluster at once.

AWS accepts or rejects each node separately. Source: API reference of SageMaker, UpdateCluster
and the operations whose names begin with Batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.cluster import ClusterView, Node
from slurmpod.aws.errors import AwsUnavailable, as_unavailable

STARTED_AT_ONCE = 25
"""The most nodes that one request may reboot or replace."""
DELETED_AT_ONCE = 99
"""The most nodes in one delete request; the model allows more, but only AWS Support enables it."""
ADDED_AT_ONCE = 50
"""The most nodes that one request may add."""

SAME = (
    "InstanceGroupName",
    "InstanceType",
    "InstanceRequirements",
    "ExecutionRole",
    "LifeCycleConfig",
    "ThreadsPerCore",
    "InstanceStorageConfigs",
    "OnStartDeepHealthChecks",
    "TrainingPlanArn",
    "OverrideVpcConfig",
    "ScheduledUpdateConfig",
    "AutoPatchConfig",
    "SlurmConfig",
    "CapacityRequirements",
    "NetworkInterface",
)
"""Fields with the same name in DescribeCluster and UpdateCluster."""

Refusals = Mapping[str, str]
"""Rejection reasons by instance id; nodes without one were accepted."""


@dataclass(frozen=True)
class SoftwareUpdate:
    """The status of a cluster and of a group's update; `message` is the reason of a failure."""

    cluster_status: str
    status: str
    message: str


@dataclass(frozen=True)
class LiveNodes:
    """The nodes of one cluster; each method raises AwsUnavailable when the request fails."""

    clients: AwsClients
    cluster: str

    def all(self) -> tuple[Node, ...]:
        """Return all nodes, by group and then by name."""
        return ClusterView(self.clients).nodes(self.cluster)

    def group(self, name: str) -> Mapping[str, Any]:
        """Return a group from DescribeCluster, with some fields of its cluster.

        These are `Continuous` (how groups grow), `ClusterStatus` and `FailureMessage`.
        """
        with as_unavailable(f"find the cluster {self.cluster}"):
            found: Any = self.clients.sagemaker.describe_cluster(ClusterName=self.cluster)
        for group in found["InstanceGroups"]:
            if group["InstanceGroupName"] == name:
                return {
                    **group,
                    "Continuous": found.get("NodeProvisioningMode") == "Continuous",
                    "ClusterStatus": found["ClusterStatus"],
                    "FailureMessage": found.get("FailureMessage", ""),
                }
        raise AwsUnavailable(f"the cluster {self.cluster} has no group {name}: deploy it first")

    def reboot(self, instance_ids: Sequence[str]) -> Refusals:
        """Reboot nodes."""
        return self._started("reboot", self.clients.sagemaker.batch_reboot_cluster_nodes,
                             instance_ids)  # fmt: skip

    def replace(self, instance_ids: Sequence[str]) -> Refusals:
        """Replace nodes with new instances."""
        return self._started("replace", self.clients.sagemaker.batch_replace_cluster_nodes,
                             instance_ids)  # fmt: skip

    def delete(self, instance_ids: Sequence[str]) -> Refusals:
        """Delete nodes and shrink their groups."""
        request = self.clients.sagemaker.batch_delete_cluster_nodes
        return dict(self._batches("delete", request, instance_ids, DELETED_AT_ONCE))

    def resize(self, group: str, count: int) -> None:
        """Set the size of a group; HyperPod chooses the nodes to remove."""
        described = self.group(group)
        more = count - described["TargetCount"]
        if described["Continuous"] and more > 0:
            self._add(group, more)
            return
        wanted: Any = {name: described[name] for name in SAME if name in described}
        wanted["InstanceCount"] = count
        with as_unavailable(f"resize the group {group}"):
            self.clients.sagemaker.update_cluster(ClusterName=self.cluster, InstanceGroups=[wanted])

    def update_software(self, group: str) -> None:
        """Update all nodes of a group to HyperPod's newest software."""
        with as_unavailable(f"update the software of {group}"):
            self.clients.sagemaker.update_cluster_software(
                ClusterName=self.cluster, InstanceGroups=[{"InstanceGroupName": group}]
            )

    def software_update(self, group: str) -> SoftwareUpdate:
        """Return the state of a group's last software update."""
        with as_unavailable(f"find the cluster {self.cluster}"):
            found: Any = self.clients.sagemaker.describe_cluster(ClusterName=self.cluster)
        for each in found["InstanceGroups"]:
            if each["InstanceGroupName"] == group:
                status = each.get("SoftwareUpdateStatus", "")
                message = found.get("FailureMessage", "")
                return SoftwareUpdate(found["ClusterStatus"], status, message)
        raise AwsUnavailable(f"the cluster {self.cluster} has no group {group}: deploy it first")

    def _add(self, group: str, count: int) -> None:
        for first in range(0, count, ADDED_AT_ONCE):
            some = min(ADDED_AT_ONCE, count - first)
            wanted: Any = {"InstanceGroupName": group, "IncrementTargetCountBy": some}
            with as_unavailable(f"add nodes to {group}"):
                answer = self.clients.sagemaker.batch_add_cluster_nodes(
                    ClusterName=self.cluster, NodesToAdd=[wanted]
                )
            for failure in answer.get("Failed", []):
                reason = f"{failure.get('ErrorCode', '')}: {failure.get('Message', '')}"
                raise AwsUnavailable(f"cannot add {some} nodes to {group}: {reason}")

    def _started(self, verb: str, request: Any, instance_ids: Sequence[str]) -> Refusals:
        return dict(self._batches(verb, request, instance_ids, STARTED_AT_ONCE))

    def _batches(
        self, verb: str, request: Any, instance_ids: Sequence[str], size: int
    ) -> Iterator[tuple[str, str]]:
        """Yield the nodes that AWS rejected; if the whole request failed, all of them."""
        for first in range(0, len(instance_ids), size):
            some = instance_ids[first : first + size]
            try:
                with as_unavailable(f"{verb} nodes of {self.cluster}"):
                    answer = request(ClusterName=self.cluster, NodeIds=list(some))
            except AwsUnavailable as refusal:
                yield from ((each, str(refusal)) for each in some)
                continue
            for failure in answer.get("Failed", []):
                code = failure.get("ErrorCode") or failure.get("Code")
                yield failure["NodeId"], f"{code}: {failure.get('Message', '')}"
