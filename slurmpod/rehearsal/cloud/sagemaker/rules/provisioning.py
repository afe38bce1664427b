"""Rules for NodeProvisioningMode, and for what only continuous provisioning offers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def provisioning_rules(request: Mapping[str, Any]) -> Iterator[str]:
    """Yield what does not go together with the provisioning mode."""
    slurm = request.get("Orchestrator", {}).get("Slurm", {})
    groups = request.get("InstanceGroups") or []
    if request.get("NodeProvisioningMode") == "Continuous":
        if "SlurmConfigStrategy" in slurm:
            yield "SlurmConfigStrategy is not allowed with NodeProvisioningMode Continuous"
        if not any("SlurmConfig" in group for group in groups):
            yield "NodeProvisioningMode Continuous needs SlurmConfig in each instance group"
        return
    if "AccountingDatabase" in slurm:
        yield "AccountingDatabase needs NodeProvisioningMode Continuous"
    for group in groups:
        if "InstanceRequirements" in group:
            yield (
                f"InstanceRequirements of instance group {group['InstanceGroupName']} needs "
                "NodeProvisioningMode Continuous"
            )
