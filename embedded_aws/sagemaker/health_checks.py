"""Deep health checks on demand: nodes are taken out of service, checked and returned to service.

Source: API reference, StartClusterHealthCheck; developer guide, "Deep health checks".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from embedded_aws.cluster import DEEP_HEALTH_CHECK, RUNNING, Cluster, ClusterNode
from embedded_aws.errors import ServiceError
from embedded_aws.interface import ClusterPlatform, InstanceTypes
from embedded_aws.sagemaker.clusters import Clusters, in_background, reason
from embedded_aws.sagemaker.operations import HEALTH_CHECK, begin, end

Shape = dict[str, Any]


class HealthChecks:
    """The checks that users start."""

    def __init__(self, clusters: Clusters, platform: ClusterPlatform) -> None:
        self._clusters = clusters
        self._platform = platform

    def start(self, region: str, given: Mapping[str, Any]) -> Shape:
        """Answer StartClusterHealthCheck; the nodes are out of service when this returns."""
        cluster = self._clusters.find(region, given["ClusterName"])
        asked = given["DeepHealthCheckConfigurations"]
        with self._clusters.lock:
            refusals = [
                text
                for each in asked
                for text in _refusals(cluster, each, self._clusters.instance_types)
            ]
            if not self._clusters.is_at_rest(cluster):
                refusals.append(f"Cluster {cluster.name} is not in service, or being updated")
            if refusals:
                raise ServiceError("ValidationException", "; ".join(refusals))
            nodes = [node for each in asked for node in _nodes(cluster, each)]
            for node in nodes:
                node.status = DEEP_HEALTH_CHECK
        in_background(f"health-check-{cluster.name}", lambda: self._check(cluster, nodes, asked))
        return {"ClusterArn": cluster.arn}

    def _check(
        self, cluster: Cluster, nodes: list[ClusterNode], asked: list[Mapping[str, Any]]
    ) -> None:
        operation = begin(cluster, HEALTH_CHECK, asked)
        try:
            self._platform.check_health(cluster, nodes)
        except Exception as error:  # noqa: BLE001 - a thread's last resort
            reason(error, f"health check of cluster {cluster.name}")
        end(operation)


def _nodes(cluster: Cluster, asked: Mapping[str, Any]) -> list[ClusterNode]:
    members = cluster.members(asked["InstanceGroupName"])
    wanted = asked.get("InstanceIds") or [node.instance_id for node in members]
    return [node for node in members if node.instance_id in wanted]


def _refusals(
    cluster: Cluster, asked: Mapping[str, Any], instance_types: InstanceTypes
) -> Iterator[str]:
    name = asked["InstanceGroupName"]
    if name not in {group.name for group in cluster.groups}:
        yield f"Instance group {name} does not exist in cluster {cluster.name}"
        return
    nodes = _nodes(cluster, asked)
    found = {node.instance_id for node in nodes}
    for instance_id in asked.get("InstanceIds", ()):
        if instance_id not in found:
            yield f"Instance {instance_id} does not exist in instance group {name}"
    for node in nodes:
        facts = instance_types.get(node.instance_type)
        if node.status != RUNNING:
            yield f"Instance {node.instance_id} is in {node.status} status and cannot be checked"
        if facts is not None and facts.accelerator_kind != "gpu":
            yield f"Deep health checks are not supported for {node.instance_type}: they test GPUs"
