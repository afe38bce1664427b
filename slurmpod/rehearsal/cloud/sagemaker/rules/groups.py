"""Rules for one instance group: its machines, how many of them, and what is checked on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.model.catalog import instance_types

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def group_rules(group: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a group by itself."""
    name = group["InstanceGroupName"]
    if ("InstanceType" in group) == ("InstanceRequirements" in group):
        yield f"Instance group {name} needs either InstanceType or InstanceRequirements"
    if group.get("MinInstanceCount", 0) > group["InstanceCount"]:
        yield f"Instance group {name}: MinInstanceCount exceeds InstanceCount"
    if "KubernetesConfig" in group:
        yield f"KubernetesConfig of instance group {name} is for EKS clusters only"
    if "ImageReleaseVersion" in group:
        yield f"ImageReleaseVersion of instance group {name} is for EKS clusters only"
    for instance_type in types_of(group):
        yield from _threads(group, instance_type)
        yield from _health_checks(group, instance_type)


def types_of(group: Mapping[str, Any]) -> list[str]:
    """Return the instance types that a group may have, the preferred one first."""
    requirements = group.get("InstanceRequirements", {}).get("InstanceTypes", [])
    return [group["InstanceType"]] if "InstanceType" in group else list(requirements)


def _threads(group: Mapping[str, Any], instance_type: str) -> Iterator[str]:
    asked, facts = group.get("ThreadsPerCore"), instance_types().get(instance_type)
    if asked is None or facts is None or asked in facts.valid_threads_per_core:
        return
    valid = " or ".join(str(threads) for threads in sorted(facts.valid_threads_per_core))
    yield (
        f"ThreadsPerCore {asked} of instance group {group['InstanceGroupName']} is not valid for "
        f"{instance_type}, which has {valid}"
    )


def _health_checks(group: Mapping[str, Any], instance_type: str) -> Iterator[str]:
    """Yield a refusal where no check could run: all of them are for GPUs, on worker nodes."""
    if not group.get("OnStartDeepHealthChecks"):
        return
    name = group["InstanceGroupName"]
    facts = instance_types().get(instance_type)
    if facts is not None and facts.accelerator_kind != "gpu":
        yield (
            f"OnStartDeepHealthChecks of instance group {name} are not supported for "
            f"{instance_type}: they test GPUs"
        )
    if group.get("SlurmConfig", {}).get("NodeType", "Compute") != "Compute":
        yield f"OnStartDeepHealthChecks of instance group {name} run on worker nodes only"
