"""What CreateCluster refuses beyond its model's constraints. Pure.

Source: the HyperPod pages of the SageMaker developer guide and the API reference of CreateCluster.
What only shows on the nodes (a missing script, a provisioning_parameters.json that disagrees) is
found by the platform, as on AWS.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Group = dict[str, Any]

_BUCKET_PREFIX = "s3://sagemaker-"
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


def refusals(request: Mapping[str, Any]) -> list[str]:
    """Return every reason for which CreateCluster refuses the request."""
    return [
        *_unsupported(request),
        *_group_names(request),
        *(text for group in _groups(request) for text in _group_rules(group)),
        *_slurm_rules(request),
        *_provisioning_rules(request),
    ]


def _groups(request: Mapping[str, Any]) -> list[Group]:
    return list(request.get("InstanceGroups") or [])


def _unsupported(request: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(request.keys() - _SUPPORTED):
        yield f"{name} is not supported by the embedded AWS"
    if "Eks" in request.get("Orchestrator", {}):
        yield "Orchestrator.Eks is not supported by the embedded AWS: it has Slurm clusters only"
    if not request.get("VpcConfig"):
        yield "VpcConfig is required by the embedded AWS: nodes get addresses in your subnets"
    if not _groups(request):
        yield "A cluster needs at least one instance group"


def _group_names(request: Mapping[str, Any]) -> Iterator[str]:
    names = Counter(group["InstanceGroupName"] for group in _groups(request))
    for name, count in names.items():
        if count > 1:
            yield f"InstanceGroupName {name} is used {count} times; names must be unique"


def _group_rules(group: Group) -> Iterator[str]:
    name = group["InstanceGroupName"]
    if ("InstanceType" in group) == ("InstanceRequirements" in group):
        yield f"Instance group {name} needs either InstanceType or InstanceRequirements"
    if group.get("MinInstanceCount", 0) > group["InstanceCount"]:
        yield f"Instance group {name}: MinInstanceCount exceeds InstanceCount"
    if "LifeCycleConfig" in group:
        yield from _lifecycle_rules(name, group["LifeCycleConfig"])
    for storage in group.get("InstanceStorageConfigs", []):
        yield from _storage_rules(name, storage)


def _lifecycle_rules(name: str, lifecycle: Mapping[str, Any]) -> Iterator[str]:
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
    if source and not source.startswith(_BUCKET_PREFIX):
        yield f"SourceS3Uri of instance group {name} must start with {_BUCKET_PREFIX}, not {source}"


def _storage_rules(name: str, storage: Mapping[str, Any]) -> Iterator[str]:
    if len(storage) != 1:
        yield f"Each InstanceStorageConfig of instance group {name} needs exactly one kind"
    volume = storage.get("EbsVolumeConfig", {})
    if volume.get("RootVolume") and "VolumeSizeInGB" in volume:
        yield f"VolumeSizeInGB of the root volume of instance group {name} cannot be chosen"
    if volume.get("RootVolume") and "VolumeKmsKeyId" not in volume:
        yield f"The root volume of instance group {name} needs VolumeKmsKeyId"


def _slurm_rules(request: Mapping[str, Any]) -> Iterator[str]:
    groups = _groups(request)
    by_type: dict[str, list[str]] = {"Controller": [], "Login": [], "Compute": []}
    for group in groups:
        if "SlurmConfig" in group:
            by_type[group["SlurmConfig"]["NodeType"]].append(group["InstanceGroupName"])
            yield from _partition_rules(group)
    controllers, logins = by_type["Controller"], by_type["Login"]
    if any(by_type.values()) and not controllers:
        yield "Cluster must have exactly one InstanceGroup with Controller node type"
    if len(controllers) > 1:
        yield (
            f"{len(controllers)} Controller Groups found: SlurmConfig for InstanceGroups may only "
            "have one Controller Group."
        )
    if len(logins) > 1:
        yield f"{len(logins)} Login groups found; a cluster may have one"


def _partition_rules(group: Group) -> Iterator[str]:
    name, slurm = group["InstanceGroupName"], group["SlurmConfig"]
    partitions = slurm.get("PartitionNames", [])
    if slurm["NodeType"] == "Compute" and not partitions:
        yield f"Compute group {name} needs a name in PartitionNames"
    if slurm["NodeType"] != "Compute" and partitions:
        yield f"Partitions can only be assigned to Compute node types (instance group {name})"


def _provisioning_rules(request: Mapping[str, Any]) -> Iterator[str]:
    slurm = request.get("Orchestrator", {}).get("Slurm", {})
    if request.get("NodeProvisioningMode") == "Continuous":
        if "SlurmConfigStrategy" in slurm:
            yield "SlurmConfigStrategy is not allowed with NodeProvisioningMode Continuous"
        return
    if "AccountingDatabase" in slurm:
        yield "AccountingDatabase needs NodeProvisioningMode Continuous"
    for group in _groups(request):
        if "InstanceRequirements" in group:
            yield (
                f"InstanceRequirements of instance group {group['InstanceGroupName']} needs "
                "NodeProvisioningMode Continuous"
            )
