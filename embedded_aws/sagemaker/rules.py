"""Refusals of CreateCluster and UpdateCluster beyond their model's constraints. Pure.

Sources: the HyperPod pages of the SageMaker developer guide and the API reference. Messages are the
service's where they quote it; the rest are ours. The platform finds errors that only appear on the
nodes (a missing script, a conflicting provisioning_parameters.json), as on AWS.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from embedded_aws.interface import InstanceFacts, InstanceTypes


def refusals(request: Mapping[str, Any], instance_types: InstanceTypes) -> list[str]:
    """Return every reason why CreateCluster refuses the request."""
    groups = list(request.get("InstanceGroups") or [])
    return [
        *cluster_rules(request),
        *(text for group in groups for text in group_rules(group, instance_types)),
        *(text for group in groups for text in lifecycle_rules(group)),
        *storage_rules(request),
        *slurm_rules(request),
        *provisioning_rules(request),
    ]


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
    """Yield the errors in the request, apart from single groups."""
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


def group_rules(group: Mapping[str, Any], known: InstanceTypes) -> Iterator[str]:
    """Yield the errors in a single group."""
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
        yield from _threads(group, instance_type, known.get(instance_type))
        yield from _health_checks(group, instance_type, known.get(instance_type))


def types_of(group: Mapping[str, Any]) -> list[str]:
    """Return the instance types that a group may have, the preferred one first."""
    requirements = group.get("InstanceRequirements", {}).get("InstanceTypes", [])
    return [group["InstanceType"]] if "InstanceType" in group else list(requirements)


def _threads(
    group: Mapping[str, Any], instance_type: str, facts: InstanceFacts | None
) -> Iterator[str]:
    asked = group.get("ThreadsPerCore")
    if asked is None or facts is None or asked in facts.valid_threads_per_core:
        return
    valid = " or ".join(str(threads) for threads in sorted(facts.valid_threads_per_core))
    yield (
        f"ThreadsPerCore {asked} of instance group {group['InstanceGroupName']} is not valid for "
        f"{instance_type}, which has {valid}"
    )


def _health_checks(
    group: Mapping[str, Any], instance_type: str, facts: InstanceFacts | None
) -> Iterator[str]:
    """Yield an error if no check can run: all checks are for GPUs on worker nodes."""
    if not group.get("OnStartDeepHealthChecks"):
        return
    name = group["InstanceGroupName"]
    if facts is not None and facts.accelerator_kind != "gpu":
        yield (
            f"OnStartDeepHealthChecks of instance group {name} are not supported for "
            f"{instance_type}: they test GPUs"
        )
    if group.get("SlurmConfig", {}).get("NodeType", "Compute") != "Compute":
        yield f"OnStartDeepHealthChecks of instance group {name} run on worker nodes only"


def lifecycle_rules(group: Mapping[str, Any]) -> Iterator[str]:
    """Yield the errors in a group's LifeCycleConfig, if it has one."""
    if "LifeCycleConfig" not in group:
        return
    name, lifecycle = group["InstanceGroupName"], group["LifeCycleConfig"]
    scripts = lifecycle.keys() & {"OnCreate", "OnInitComplete"}
    source = lifecycle.get("SourceS3Uri")
    if not lifecycle:
        yield f"LifeCycleConfig for instance group {name} is provided but contains no configuration"
    elif not source or not scripts:
        yield (
            f"LifeCycleConfig for instance group {name} is incomplete: SourceS3Uri and one of "
            "OnCreate and OnInitComplete belong together"
        )
    if len(scripts) > 1:
        yield (
            "OnCreate and OnInitComplete in LifeCycleConfig are mutually exclusive "
            f"(instance group {name})"
        )


def provisioning_rules(request: Mapping[str, Any]) -> Iterator[str]:
    """Yield the settings that conflict with the provisioning mode."""
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


_NO_CONTROLLER = "Cluster must have exactly one InstanceGroup with Controller node type"


def slurm_rules(request: Mapping[str, Any]) -> Iterator[str]:
    """Yield the errors in the SlurmConfigs, which a cluster may omit altogether.

    Then provisioning_parameters.json, stored with the scripts, has the same information.
    """
    groups = request.get("InstanceGroups") or []
    placed = [group for group in groups if "SlurmConfig" in group]
    if placed:
        yield from _node_types(placed)
        for group in groups:
            yield from _place_in_slurm(group)
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


def _place_in_slurm(group: Mapping[str, Any]) -> Iterator[str]:
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


MOUNT_PATHS: Final[Mapping[str, str]] = {"FsxLustreConfig": "/fsx", "FsxOpenZfsConfig": "/home"}
"""Default mount paths of file systems (developer guide)."""

_VOLUMES = {True: "root volume", False: "secondary volume"}


def storage_rules(request: Mapping[str, Any]) -> Iterator[str]:
    """Yield the errors in the storage of all groups."""
    groups = request.get("InstanceGroups") or []
    for group in groups:
        configs = group.get("InstanceStorageConfigs", [])
        for config in configs:
            yield from _one_kind(group["InstanceGroupName"], config)
        yield from _volumes(group["InstanceGroupName"], configs)
        yield from _file_systems(group["InstanceGroupName"], configs)
    if not any(_fsx_kinds(group) for group in groups):
        return
    if not request.get("VpcConfig"):
        yield "FSx configurations are only supported for Custom VPC"
    if not any(group.get("SlurmConfig", {}).get("NodeType") == "Controller" for group in groups):
        yield "FSx configurations need an instance group whose SlurmConfig has NodeType Controller"


def _fsx_kinds(group: Mapping[str, Any]) -> list[str]:
    configs = group.get("InstanceStorageConfigs", [])
    return [kind for config in configs for kind in config if kind in MOUNT_PATHS]


def _one_kind(name: str, config: Mapping[str, Any]) -> Iterator[str]:
    if len(config) != 1:
        yield f"Each InstanceStorageConfig of instance group {name} needs exactly one kind"


def _volumes(name: str, configs: list[dict[str, Any]]) -> Iterator[str]:
    volumes = [config["EbsVolumeConfig"] for config in configs if "EbsVolumeConfig" in config]
    for is_root, count in Counter(bool(volume.get("RootVolume")) for volume in volumes).items():
        if count > 1:
            yield f"Instance group {name} configures its {_VOLUMES[is_root]} {count} times"
    for volume in volumes:
        if not volume.get("RootVolume"):
            if "VolumeSizeInGB" not in volume:
                yield f"The secondary volume of instance group {name} needs VolumeSizeInGB"
            continue
        if "VolumeSizeInGB" in volume:
            yield f"VolumeSizeInGB of the root volume of instance group {name} cannot be chosen"
        if "VolumeKmsKeyId" not in volume:
            yield f"The root volume of instance group {name} needs VolumeKmsKeyId"


def _file_systems(name: str, configs: list[dict[str, Any]]) -> Iterator[str]:
    paths = []
    for kind, default in MOUNT_PATHS.items():
        found = [config[kind] for config in configs if kind in config]
        if len(found) > 1:
            yield f"Each instance group can have at most one {kind}; {name} has {len(found)}"
        paths += [config.get("MountPath", default) for config in found[:1]]
    if len(set(paths)) < len(paths):
        yield f"Instance group {name} mounts two file systems at {paths[0]}"


_CHANGEABLE = frozenset(
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
"""Group members that cannot change (developer guide, "Update cluster configuration")."""


def change_rules(current: Mapping[str, Any], update: Mapping[str, Any]) -> Iterator[str]:
    """Yield every reason why a cluster created from `current` refuses `update`."""
    for name in sorted(update.keys() - _CHANGEABLE):
        yield f"{name} is not supported by the embedded AWS"
    existing = {group["InstanceGroupName"]: group for group in current["InstanceGroups"]}
    for group in update.get("InstanceGroups", []):
        if group["InstanceGroupName"] in existing:
            yield from _group_changes(existing[group["InstanceGroupName"]], group)
    yield from _deletions(existing, update)
    yield from _cluster_changes(current, update)


def _group_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
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


def _cluster_changes(current: Mapping[str, Any], update: Mapping[str, Any]) -> Iterator[str]:
    before, after = _database(current), _database(update)
    if "Orchestrator" not in update or before == after:
        return
    if after is None:
        yield "A cluster with an AccountingDatabase cannot go back to the one on its controller"
    elif before is not None:
        yield "AccountingDatabase cannot be changed to another one in the embedded AWS"


def _database(request: Mapping[str, Any]) -> Any:
    return request.get("Orchestrator", {}).get("Slurm", {}).get("AccountingDatabase")
