"""Rules for the groups' places in Slurm: one controller, at most one login group, partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_NO_CONTROLLER = "Cluster must have exactly one InstanceGroup with Controller node type"


def slurm_rules(request: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the SlurmConfigs; a cluster may do without any of them.

    Then provisioning_parameters.json says the same, and lies where the scripts lie.
    """
    groups = request.get("InstanceGroups") or []
    placed = [group for group in groups if "SlurmConfig" in group]
    if placed:
        yield from _node_types(placed)
        for group in groups:
            yield from _place(group)
    elif groups and not any("LifeCycleConfig" in group for group in groups):
        yield _NO_CONTROLLER


def _node_types(groups: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    types = [group["SlurmConfig"]["NodeType"] for group in groups]
    controllers, logins = types.count("Controller"), types.count("Login")
    if controllers == 0:
        yield _NO_CONTROLLER
    if controllers > 1:
        yield (
            f"{controllers} Controller Groups found: SlurmConfig for InstanceGroups may only "
            "have one Controller Group."
        )
    if logins > 1:
        yield f"{logins} Login groups found; a cluster may have one"


def _place(group: Mapping[str, Any]) -> Iterator[str]:
    name = group["InstanceGroupName"]
    if "SlurmConfig" not in group:
        yield f"Instance group {name} needs SlurmConfig, as the other groups have it"
        return
    node_type = group["SlurmConfig"]["NodeType"]
    partitions = group["SlurmConfig"].get("PartitionNames", [])
    if node_type == "Compute" and not partitions:
        yield f"Compute group {name} needs a name in PartitionNames"
    if node_type != "Compute" and partitions:
        yield f"Partitions can only be assigned to Compute node types (instance group {name})"
    if node_type == "Controller" and group["InstanceCount"] != 1:
        yield (
            f"Controller group {name} must have InstanceCount 1: several controllers are "
            "configured with provisioning_parameters.json only"
        )
