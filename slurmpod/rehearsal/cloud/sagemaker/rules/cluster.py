"""Rules for the cluster as a whole: what it consists of, and what only other clusters have."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SUPPORTED = frozenset(
    {
        "ClusterName",
        "InstanceGroups",
        "NodeProvisioningMode",
        "NodeRecovery",
        "Orchestrator",
        "Tags",
        "VpcConfig",
    }
)


def cluster_rules(request: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the request apart from its single groups."""
    for name in sorted(request.keys() - _SUPPORTED):
        yield f"{name} is not supported by the embedded AWS"
    yield from _orchestrator(request)
    if not request.get("VpcConfig"):
        yield "VpcConfig is required by the embedded AWS: nodes get addresses in your subnets"
    yield from _groups(request.get("InstanceGroups") or [])
    yield from _overrides(request)


def _orchestrator(request: Mapping[str, Any]) -> Iterator[str]:
    if "Orchestrator" not in request:
        return
    kinds = request["Orchestrator"].keys()
    if "Eks" in kinds:
        yield "Orchestrator.Eks is not supported by the embedded AWS: it has Slurm clusters only"
    elif not kinds:
        yield "Orchestrator must have exactly one orchestrator configuration: either Eks or Slurm"


def _groups(groups: list[dict[str, Any]]) -> Iterator[str]:
    if not groups:
        yield "A cluster needs at least one instance group"
    names = Counter(group["InstanceGroupName"] for group in groups)
    for name, count in names.items():
        if count > 1:
            yield f"InstanceGroupName {name} is used {count} times; names must be unique"


def _overrides(request: Mapping[str, Any]) -> Iterator[str]:
    if request.get("VpcConfig"):
        return
    for group in request.get("InstanceGroups") or []:
        if "OverrideVpcConfig" in group:
            yield (
                f"OverrideVpcConfig of instance group {group['InstanceGroupName']} needs a "
                "VpcConfig of the cluster to override"
            )
