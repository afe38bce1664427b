"""Rules for UpdateCluster: what a cluster that exists cannot become."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SUPPORTED = frozenset(
    {
        "ClusterName",
        "InstanceGroups",
        "InstanceGroupsToDelete",
        "NodeProvisioningMode",
        "NodeRecovery",
        "Orchestrator",
    }
)
_FIXED = ("ExecutionRole", "InstanceType", "OverrideVpcConfig", "ThreadsPerCore")
"""What a group keeps for its life (developer guide, "Update cluster configuration")."""


def change_rules(current: Mapping[str, Any], update: Mapping[str, Any]) -> Iterator[str]:
    """Yield every reason why a cluster that was asked for as `current` refuses `update`."""
    for name in sorted(update.keys() - _SUPPORTED):
        yield f"{name} is not supported by the embedded AWS"
    existing = {group["InstanceGroupName"]: group for group in current["InstanceGroups"]}
    for group in update.get("InstanceGroups", []):
        if group["InstanceGroupName"] in existing:
            yield from _group(existing[group["InstanceGroupName"]], group)
    yield from _deletions(existing, update)
    yield from _cluster(current, update)


def _group(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    name = old["InstanceGroupName"]
    for member in _FIXED:
        if member in new and new[member] != old.get(member):
            yield (
                f"{member} of instance group {name} cannot be changed from "
                f"{old.get(member, 'none')} to {new[member]}; add another instance group instead"
            )
    if "SlurmConfig" not in old or "SlurmConfig" not in new:
        return
    old_type, new_type = old["SlurmConfig"]["NodeType"], new["SlurmConfig"]["NodeType"]
    if old_type != new_type:
        yield (
            f"NodeType of instance group {name} is immutable: it is {old_type}, not {new_type}; "
            "add another instance group instead"
        )


def _deletions(existing: Mapping[str, Any], update: Mapping[str, Any]) -> Iterator[str]:
    updated = {group["InstanceGroupName"] for group in update.get("InstanceGroups", [])}
    for name in update.get("InstanceGroupsToDelete", []):
        if name not in existing:
            yield f"Instance group {name} of InstanceGroupsToDelete does not exist"
        elif existing[name].get("SlurmConfig", {}).get("NodeType") == "Controller":
            yield f"Instance group {name} is the Slurm controller's and cannot be deleted"
        if name in updated:
            yield f"Instance group {name} is both in InstanceGroups and InstanceGroupsToDelete"


def _cluster(current: Mapping[str, Any], update: Mapping[str, Any]) -> Iterator[str]:
    mode = update.get("NodeProvisioningMode")
    if mode and mode != current.get("NodeProvisioningMode"):
        yield "NodeProvisioningMode cannot be changed in the embedded AWS"
    if "Orchestrator" in update and _database(update) != _database(current):
        yield "AccountingDatabase cannot be changed in the embedded AWS"


def _database(request: Mapping[str, Any]) -> Any:
    return request.get("Orchestrator", {}).get("Slurm", {}).get("AccountingDatabase")
