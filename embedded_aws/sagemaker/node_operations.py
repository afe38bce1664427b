"""Operations on nodes of a cluster in service: add, delete, reboot and replace them.

Each node is accepted or refused separately; the work continues in the background, and the cluster
stays in service. Source: the API reference's pages of these operations and of their errors.

A retry of BatchAddClusterNodes with the same token within eight hours, in a rehearsal at any time,
returns the nodes of the first attempt.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from embedded_aws.cluster import Cluster, ClusterNode, ClusterOperation, StillAtWork, resized
from embedded_aws.errors import ServiceError
from embedded_aws.interface import ClusterPlatform
from embedded_aws.sagemaker.clusters import Clusters, in_background, reason
from embedded_aws.sagemaker.events import group_scales, record
from embedded_aws.sagemaker.operations import begin_scaling, end

Shape = dict[str, Any]

_IDS = {"NodeIds": "instance_id", "NodeLogicalIds": "logical_id"}
"""The two ids of a node in requests, and the attribute of each."""
_LARGEST_DELETION = 50
"""Maximum number of nodes in a deletion with NodeLogicalIds; with NodeIds alone the model's limit
applies (API reference, BatchDeleteClusterNodes)."""


@dataclass(frozen=True)
class Operation:
    """An operation on nodes, and the API's names for its refusals."""

    api_name: str
    participle: str
    statuses: frozenset[str]
    may_concern_controllers: bool
    needs_continuous: bool
    """Whether it accepts NodeLogicalIds only for continuously provisioned clusters."""
    code_member: str
    not_found: str
    invalid_status: str
    in_use: str


DELETION = Operation(
    api_name="BatchDeleteClusterNodes",
    participle="deleted",
    statuses=frozenset({"Running", "Failure", "Pending"}),
    may_concern_controllers=False,
    needs_continuous=False,
    code_member="Code",
    not_found="NodeIdNotFound",
    invalid_status="InvalidNodeStatus",
    in_use="NodeIdInUse",
)
REPLACEMENT = Operation(
    api_name="BatchReplaceClusterNodes",
    participle="replaced",
    statuses=frozenset({"Running", "Failure"}),
    may_concern_controllers=False,
    needs_continuous=True,
    code_member="ErrorCode",
    not_found="InstanceIdNotFound",
    invalid_status="InvalidInstanceStatus",
    in_use="InstanceIdInUse",
)
REBOOT = replace(
    REPLACEMENT,
    api_name="BatchRebootClusterNodes",
    participle="rebooted",
    may_concern_controllers=True,
)


@dataclass
class Choice:
    """The nodes that an operation accepts, and its response about all requested nodes."""

    nodes: list[ClusterNode] = field(default_factory=list)
    answer: dict[str, Any] = field(default_factory=dict)


def choose(
    cluster: Cluster, given: Mapping[str, Any], operation: Operation, *, is_at_rest: bool
) -> Choice:
    """Choose from the requested nodes; raises ValidationException for an invalid request.

    While an operation runs on the whole cluster, it is not at rest: all its nodes are in use.
    """
    refusals = list(_refusals(cluster, given, operation))
    if refusals:
        raise ServiceError("ValidationException", "; ".join(refusals))
    choice = Choice()
    for member, attribute in _IDS.items():
        for node_id in dict.fromkeys(given.get(member, ())):
            node = _find(cluster, attribute, node_id)
            refusal = _refusal(cluster, node, node_id, operation, is_at_rest=is_at_rest)
            _answer(choice, member, node_id, refusal, operation)
            if node is not None and refusal is None and node not in choice.nodes:
                choice.nodes.append(node)
    return choice


def _refusals(cluster: Cluster, given: Mapping[str, Any], operation: Operation) -> Iterator[str]:
    """Yield the errors in a request's node ids that the model allows."""
    if not any(member in given for member in _IDS):
        yield f"One of {' and '.join(_IDS)} must be provided"
    if "NodeLogicalIds" not in given:
        return
    if operation.needs_continuous and not cluster.settings.is_continuous:
        yield (
            "NodeLogicalIds is only supported for clusters using Continuous as the "
            "NodeProvisioningMode"
        )
    count = sum(len(given.get(member, ())) for member in _IDS)
    if operation is DELETION and count > _LARGEST_DELETION:
        yield f"At most {_LARGEST_DELETION} nodes can be named where NodeLogicalIds are given"


def _find(cluster: Cluster, attribute: str, node_id: str) -> ClusterNode | None:
    nodes = (node for node in list(cluster.nodes) if getattr(node, attribute) == node_id)
    return next(nodes, None)


def _refusal(
    cluster: Cluster,
    node: ClusterNode | None,
    node_id: str,
    operation: Operation,
    *,
    is_at_rest: bool,
) -> tuple[str, str] | None:
    """Return code and message, or None; raises ValidationException for controllers."""
    if node is None:
        return operation.not_found, f"Node {node_id} does not exist in cluster {cluster.name}"
    if node.group == cluster.controller_group and not operation.may_concern_controllers:
        raise ServiceError(
            "ValidationException",
            f"Node {node_id} is a Slurm controller and cannot be {operation.participle}",
        )
    if not is_at_rest:
        return operation.in_use, f"Another operation on cluster {cluster.name} is in progress"
    if node.status not in operation.statuses:
        return (
            operation.invalid_status,
            f"Node {node_id} is in {node.status} status and cannot be {operation.participle}",
        )
    return None


def _answer(
    choice: Choice,
    member: str,
    node_id: str,
    refusal: tuple[str, str] | None,
    operation: Operation,
) -> None:
    """Add the result for one node to the response, which has no empty lists."""
    kind = "" if member == "NodeIds" else member
    if refusal is None:
        choice.answer.setdefault(f"Successful{kind}", []).append(node_id)
        return
    code, message = refusal
    choice.answer.setdefault(f"Failed{kind}", []).append(
        {member.removesuffix("s"): node_id, operation.code_member: code, "Message": message}
    )


class NodeOperations:
    """The operations on the nodes of all clusters."""

    def __init__(self, clusters: Clusters, platform: ClusterPlatform) -> None:
        self._clusters = clusters
        self._platform = platform

    def delete(self, region: str, given: Mapping[str, Any]) -> Shape:
        """Answer BatchDeleteClusterNodes; the groups shrink immediately, the nodes follow."""
        cluster = self._clusters.find(region, given["ClusterName"])
        with self._clusters.lock:
            choice = self._choose(cluster, given, DELETION)
            for node in choice.nodes:
                node.is_leaving, node.status = True, "ShuttingDown"
            before = cluster.groups
            shrunk = _shrink(cluster, choice.nodes)
            operation = begin_scaling(cluster, before, cluster.groups)
        for name in shrunk:
            record(cluster, group_scales(cluster, cluster.group(name), operation))
        if choice.nodes:
            _work("node deletion", cluster, partial(self._remove, cluster, choice.nodes, operation))
        return choice.answer

    def _remove(
        self, cluster: Cluster, nodes: Sequence[ClusterNode], operation: ClusterOperation | None
    ) -> None:
        try:
            self._platform.remove(cluster, nodes)
        finally:
            end(operation)

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
        """Reboot or replace all chosen nodes at once."""
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
    """Shrink groups by the leaving nodes, and return the names of these groups."""
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
    """Run an accepted operation on a node as soon as no other operation is in progress.

    A node is running shortly before an operation on it ends, and the health monitoring agent does
    not use the API. If the instance has been replaced meanwhile, there is nothing left to do.
    """
    while node.instance_id == instance_id:
        try:
            do(cluster, node)
        except StillAtWork as busy:
            busy.wait()
        else:
            return


def _work(what: str, cluster: Cluster, do: Callable[[], None]) -> None:
    """Do the work in the background; its result shows in the nodes and the cluster's events."""

    def work() -> None:
        try:
            do()
        except Exception as error:  # noqa: BLE001 - a thread's last resort
            reason(error, f"{what} of cluster {cluster.name}")

    in_background(f"{what}-{cluster.name}", work)


LARGEST_ADDITION = 50
_NAME, _COUNT = "InstanceGroupName", "IncrementTargetCountBy"


class NodeAddition:
    """The operation, with the nodes added so far by token."""

    def __init__(self, clusters: Clusters) -> None:
        self._clusters = clusters
        self._added: dict[tuple[str, str], list[ClusterNode]] = {}
        self._locks: defaultdict[tuple[str, str], threading.Lock] = defaultdict(threading.Lock)

    def add(self, region: str, given: Mapping[str, Any]) -> Shape:
        """Answer BatchAddClusterNodes; the groups have their new targets, the nodes follow."""
        cluster = self._clusters.find(region, given["ClusterName"])
        _check(cluster, given)
        if "ClientToken" not in given:
            return _addition_answer(*self._add(region, cluster, given["NodesToAdd"]))
        token = (cluster.arn, given["ClientToken"])
        with self._locks[token]:  # a retry may arrive before the first attempt has ended
            if token in self._added:
                return _addition_answer(self._added[token], [])
            added, failed = self._add(region, cluster, given["NodesToAdd"])
            if added:
                self._added[token] = added
            return _addition_answer(added, failed)

    def _add(
        self, region: str, cluster: Cluster, asked: Sequence[Mapping[str, Any]]
    ) -> tuple[list[ClusterNode], list[Shape]]:
        """Add nodes to the groups that accept them; return the nodes and the failures."""
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
    """Raise ValidationException with all errors in a request that the model allows."""
    refusals = list(_addition_refusals(cluster, given))
    if refusals:
        raise ServiceError("ValidationException", "; ".join(refusals))


def _addition_refusals(cluster: Cluster, given: Mapping[str, Any]) -> Iterator[str]:
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
    """Yield the groups in the form of UpdateCluster's input."""
    more = dict.fromkeys((each[_NAME] for each in wanted), 0)
    for each in wanted:
        more[each[_NAME]] += each[_COUNT]
    for name, count in more.items():
        group = cluster.group(name)
        yield {**group.request, "InstanceCount": group.instance_count + count}


def _addition_answer(added: Sequence[ClusterNode], failed: Sequence[Shape]) -> Shape:
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
