"""Which nodes a Batch...ClusterNodes operation takes, and what it says of those that it refuses.

Source: the API reference's pages of these operations and of their errors. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.errors import ServiceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slurmpod.rehearsal.cloud.platform import Cluster, ClusterNode

_IDS = {"NodeIds": "instance_id", "NodeLogicalIds": "logical_id"}
"""The two ways to name a node, and where a node keeps each."""
_LARGEST_DELETION = 50
"""How many nodes a deletion may name when it names some by NodeLogicalIds; by NodeIds alone the
model's limit holds (API reference, BatchDeleteClusterNodes)."""


@dataclass(frozen=True)
class Operation:
    """An operation on nodes, and the API's names for its refusals."""

    api_name: str
    participle: str
    statuses: frozenset[str]
    may_concern_controllers: bool
    needs_continuous: bool
    """Whether it takes NodeLogicalIds of continuously provisioned clusters only."""
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
    """The nodes that an operation takes, and its answer about all that were named."""

    nodes: list[ClusterNode] = field(default_factory=list)
    answer: dict[str, Any] = field(default_factory=dict)


def choose(
    cluster: Cluster, given: Mapping[str, Any], operation: Operation, *, is_at_rest: bool
) -> Choice:
    """Choose from the nodes that a request names; raises ValidationException for a wrong request.

    A cluster that changes as a whole is not at rest: then all its nodes are in use.
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
    """Yield what is wrong with the names of a request that the model allows."""
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
    """Put what becomes of one node into the answer, which has no empty lists."""
    kind = "" if member == "NodeIds" else member
    if refusal is None:
        choice.answer.setdefault(f"Successful{kind}", []).append(node_id)
        return
    code, message = refusal
    choice.answer.setdefault(f"Failed{kind}", []).append(
        {member.removesuffix("s"): node_id, operation.code_member: code, "Message": message}
    )
