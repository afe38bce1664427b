"""BatchAddClusterNodes: more nodes for groups of a continuously provisioned cluster.

Source: the API reference's page of the operation; a retry with the same token within eight hours,
which is for a rehearsal always, is answered with the nodes of the first try.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from embedded_aws.cluster import Cluster, ClusterNode
from embedded_aws.errors import ServiceError
from embedded_aws.sagemaker.clusters import Clusters

Shape = dict[str, Any]
LARGEST_ADDITION = 50
_NAME, _COUNT = "InstanceGroupName", "IncrementTargetCountBy"


class NodeAddition:
    """The operation, and what it has added so far, by token."""

    def __init__(self, clusters: Clusters) -> None:
        self._clusters = clusters
        self._added: dict[tuple[str, str], list[ClusterNode]] = {}
        self._locks: defaultdict[tuple[str, str], threading.Lock] = defaultdict(threading.Lock)

    def add(self, region: str, given: Mapping[str, Any]) -> Shape:
        """Answer BatchAddClusterNodes: the groups have their new targets, nodes follow."""
        cluster = self._clusters.find(region, given["ClusterName"])
        _check(cluster, given)
        if "ClientToken" not in given:
            return _answer(*self._add(region, cluster, given["NodesToAdd"]))
        token = (cluster.arn, given["ClientToken"])
        with self._locks[token]:  # a retry may come before the first try has ended
            if token in self._added:
                return _answer(self._added[token], [])
            added, failed = self._add(region, cluster, given["NodesToAdd"])
            if added:
                self._added[token] = added
            return _answer(added, failed)

    def _add(
        self, region: str, cluster: Cluster, asked: Sequence[Mapping[str, Any]]
    ) -> tuple[list[ClusterNode], list[Shape]]:
        """Add what can be added; return the nodes, and what cannot."""
        known = {group.name for group in cluster.groups}
        failed = [
            _failure(each, "InstanceGroupNotFound", f"Cluster {cluster.name} has no such group")
            for each in asked
            if each[_NAME] not in known
        ]
        wanted = [each for each in asked if each[_NAME] in known]
        if not self._clusters.is_at_rest(cluster):
            why = f"Cluster {cluster.name} is not in service, or being updated"
            busy = [_failure(each, "InvalidInstanceGroupStatus", why) for each in wanted]
            return [], [*failed, *busy]
        added = self._grow(region, cluster, wanted) if wanted else []
        if wanted and not added:
            why = cluster.failure_message
            failed += [_failure(each, "InvalidInstanceGroupStatus", why) for each in wanted]
        return added, failed

    def _grow(
        self, region: str, cluster: Cluster, wanted: Sequence[Mapping[str, Any]]
    ) -> list[ClusterNode]:
        before = list(cluster.nodes)
        update = {"ClusterName": cluster.name, "InstanceGroups": list(_larger(cluster, wanted))}
        self._clusters.update(region, update)
        names = {each[_NAME] for each in wanted}
        return [node for node in cluster.nodes if node.group in names and node not in before]


def _check(cluster: Cluster, given: Mapping[str, Any]) -> None:
    """Raise ValidationException with all that is wrong with a request that the model allows."""
    refusals = list(_refusals(cluster, given))
    if refusals:
        raise ServiceError("ValidationException", "; ".join(refusals))


def _refusals(cluster: Cluster, given: Mapping[str, Any]) -> Iterator[str]:
    if not cluster.settings.is_continuous:
        yield (
            "BatchAddClusterNodes is only supported for clusters using Continuous as the "
            "NodeProvisioningMode"
        )
    asked = given["NodesToAdd"]
    if sum(each[_COUNT] for each in asked) > LARGEST_ADDITION:
        yield f"At most {LARGEST_ADDITION} nodes can be added at once"
    for each in asked:
        if each[_NAME] == cluster.controller_group:
            yield f"Instance group {each[_NAME]} is the Slurm controller's and cannot grow"
        for member in sorted(each.keys() - {_NAME, _COUNT}):
            yield f"{member} is not supported by the embedded AWS"


def _larger(cluster: Cluster, wanted: Sequence[Mapping[str, Any]]) -> Iterator[Shape]:
    """Yield the groups as UpdateCluster would be asked for them."""
    more = dict.fromkeys((each[_NAME] for each in wanted), 0)
    for each in wanted:
        more[each[_NAME]] += each[_COUNT]
    for name, count in more.items():
        group = cluster.group(name)
        yield {**group.request, "InstanceCount": group.instance_count + count}


def _answer(added: Sequence[ClusterNode], failed: Sequence[Shape]) -> Shape:
    successful = [
        {"NodeLogicalId": node.logical_id, _NAME: node.group, "Status": node.status}
        for node in added
    ]
    return {"Successful": successful, "Failed": list(failed)}


def _failure(asked: Mapping[str, Any], code: str, message: str) -> Shape:
    return {
        _NAME: asked[_NAME],
        "ErrorCode": code,
        "FailedCount": asked[_COUNT],
        "Message": message,
    }
