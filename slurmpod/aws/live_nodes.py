"""The operations on several nodes of a live cluster at once.

Each node is accepted or refused for itself. Source: API reference of SageMaker, UpdateCluster
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
"""Nodes that one request may reboot or replace."""
DELETED_AT_ONCE = 99
"""Nodes that one request may delete; the model allows more, and support has to be asked for it."""
ADDED_AT_ONCE = 50
"""Nodes that one request may add."""

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
"""What DescribeCluster and UpdateCluster call by the same name."""

Refusals = Mapping[str, str]
"""Why nodes were refused, by instance id; those that are not in it were accepted."""


@dataclass(frozen=True)
class SoftwareUpdate:
    """The status of a cluster and that of a group's update; `message` says why one failed."""

    cluster_status: str
    status: str
    message: str


@dataclass(frozen=True)
class LiveNodes:
    """The nodes of one cluster; each method raises AwsUnavailable when AWS does not do it."""

    clients: AwsClients
    cluster: str

    def all(self) -> tuple[Node, ...]:
        """Return all nodes, group by group, in the order of their names."""
        return ClusterView(self.clients).nodes(self.cluster)

    def group(self, name: str) -> Mapping[str, Any]:
        """Return a group as DescribeCluster tells it, and what that tells of its cluster.

        `Continuous` says how groups grow; `ClusterStatus` and `FailureMessage` go by these names.
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
        """Put new instances in the places of nodes."""
        return self._started("replace", self.clients.sagemaker.batch_replace_cluster_nodes,
                             instance_ids)  # fmt: skip

    def delete(self, instance_ids: Sequence[str]) -> Refusals:
        """Delete nodes; their groups are smaller from then on."""
        request = self.clients.sagemaker.batch_delete_cluster_nodes
        return dict(self._batches("delete", request, instance_ids, DELETED_AT_ONCE))

    def resize(self, group: str, count: int) -> None:
        """Let a group have another number of nodes, of which HyperPod chooses those that go."""
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
        """Let HyperPod put its newest software on all nodes of a group."""
        with as_unavailable(f"update the software of {group}"):
            self.clients.sagemaker.update_cluster_software(
                ClusterName=self.cluster, InstanceGroups=[{"InstanceGroupName": group}]
            )

    def software_update(self, group: str) -> SoftwareUpdate:
        """Return how the last update of a group's software goes, or went."""
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
        """Yield the refused ones; a request that fails as a whole refuses all that it names."""
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
