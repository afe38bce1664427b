"""Cluster requests: parsing of CreateCluster, UpdateCluster and UpdateClusterSoftware. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from embedded_aws.cluster import (
    ALL_AT_ONCE,
    AccountingDatabase,
    BatchSize,
    Cluster,
    ClusterSettings,
    FileSystemMount,
    InstanceGroup,
    LifeCycleConfig,
    NodeType,
    SlurmConfig,
    SoftwareUpdate,
    VpcConfig,
)
from embedded_aws.errors import ServiceError, summary, violations
from embedded_aws.interface import InstanceTypes
from embedded_aws.sagemaker.rules import MOUNT_PATHS, change_rules, refusals, types_of

_DATABASE_PORT = 3306
_OPENZFS_ROOT = "/fsx"
"""The path of an FSx for OpenZFS file system's root volume (FSx for OpenZFS user guide)."""
_STRATEGY = "Merge"
"""The default strategy: the developer guide's page on migrating to the API says Merge, the API
reference says Managed."""
_INHERITED = ("OverrideVpcConfig", "SlurmConfig", "ThreadsPerCore")
"""Group members that stay unchanged if UpdateCluster omits them."""


def check_request(request: Mapping[str, Any], instance_types: InstanceTypes) -> None:
    """Raise ValidationException with all errors in a CreateCluster request."""
    problems = violations("sagemaker", "CreateCluster", request)
    if problems:
        raise ServiceError("ValidationException", summary(problems))
    _refuse(refusals(request, instance_types))


def updated_request(
    current: Mapping[str, Any], update: Mapping[str, Any], instance_types: InstanceTypes
) -> dict[str, Any]:
    """Return the CreateCluster request for a cluster after an UpdateCluster.

    Raises ValidationException with all errors in the change or in its result.
    """
    problems = violations("sagemaker", "UpdateCluster", update)
    if problems:
        raise ServiceError("ValidationException", summary(problems))
    _refuse(list(change_rules(current, update)))
    updated = {**current, "InstanceGroups": _updated_groups(current["InstanceGroups"], update)}
    for name in ("NodeProvisioningMode", "NodeRecovery", "Orchestrator"):
        if name in update:
            updated[name] = update[name]
    if "NodeProvisioningMode" in update and "Orchestrator" in current.keys() - update.keys():
        updated["Orchestrator"] = _without_strategy(current["Orchestrator"])
    _refuse(refusals(updated, instance_types))
    return updated


def read_groups(request: Mapping[str, Any]) -> tuple[InstanceGroup, ...]:
    """Return the groups of a checked request."""
    return tuple(_group(group, request["VpcConfig"]) for group in request["InstanceGroups"])


def read_settings(request: Mapping[str, Any], cluster_id: str) -> ClusterSettings:
    """Return the cluster-wide settings of a checked request."""
    slurm = request.get("Orchestrator", {}).get("Slurm", {})
    database = slurm.get("AccountingDatabase")
    return ClusterSettings(
        is_continuous=request.get("NodeProvisioningMode") == "Continuous",
        strategy=slurm.get("SlurmConfigStrategy", _STRATEGY),
        accounting_database=database
        and AccountingDatabase(
            endpoint=database["Endpoint"],
            port=database.get("Port", _DATABASE_PORT),
            name=database.get("Name", f"slurm_acct_db_{cluster_id}"),
            secret_arn=database["SecretArn"],
        ),
    )


def read_vpc_config(given: Mapping[str, Any]) -> VpcConfig:
    """Return the parsed VpcConfig or OverrideVpcConfig."""
    return VpcConfig(
        security_group_ids=tuple(given["SecurityGroupIds"]), subnet_ids=tuple(given["Subnets"])
    )


def _refuse(reasons: Sequence[str]) -> None:
    if reasons:
        raise ServiceError("ValidationException", "; ".join(reasons))


def _without_strategy(orchestrator: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings without a strategy, for a switch to continuous provisioning."""
    slurm = {**orchestrator.get("Slurm", {})}
    slurm.pop("SlurmConfigStrategy", None)
    return {"Slurm": slurm}


def _updated_groups(
    current: Sequence[dict[str, Any]], update: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the remaining groups with their changes, then the new ones."""
    asked = {group["InstanceGroupName"]: group for group in update.get("InstanceGroups", [])}
    removed = update.get("InstanceGroupsToDelete", [])
    groups = []
    for group in current:
        name = group["InstanceGroupName"]
        if name in removed:
            continue
        kept = {member: group[member] for member in _INHERITED if member in group}
        groups.append({**kept, **asked.pop(name)} if name in asked else group)
    return [*groups, *asked.values()]


def _group(given: Mapping[str, Any], cluster_vpc: Mapping[str, Any]) -> InstanceGroup:
    return InstanceGroup(
        name=given["InstanceGroupName"],
        instance_type=types_of(given)[0],
        instance_count=given["InstanceCount"],
        min_instance_count=given.get("MinInstanceCount", 0),
        execution_role_arn=given["ExecutionRole"],
        threads_per_core=given.get("ThreadsPerCore"),
        lifecycle=_lifecycle(given.get("LifeCycleConfig")),
        slurm=_slurm(given.get("SlurmConfig")),
        mounts=_mounts(given.get("InstanceStorageConfigs", [])),
        vpc_config=read_vpc_config(given.get("OverrideVpcConfig", cluster_vpc)),
        request=given,
    )


def _lifecycle(given: Mapping[str, Any] | None) -> LifeCycleConfig | None:
    if given is None:
        return None
    return LifeCycleConfig(
        source_s3_uri=given["SourceS3Uri"],
        on_create=given.get("OnCreate"),
        on_init_complete=given.get("OnInitComplete"),
    )


def _slurm(given: Mapping[str, Any] | None) -> SlurmConfig | None:
    if given is None:
        return None
    partitions = given.get("PartitionNames") or [None]
    return SlurmConfig(NodeType(given["NodeType"]), partitions[0])


def _mounts(configs: Sequence[Mapping[str, Any]]) -> tuple[FileSystemMount, ...]:
    """Return the shared file systems, Lustre first."""
    mounts = []
    for kind, default_path in MOUNT_PATHS.items():
        for config in (config[kind] for config in configs if kind in config):
            path = config.get("MountPath", default_path)
            if kind == "FsxLustreConfig":
                source = f"{config['DnsName']}@tcp:/{config['MountName']}"
                mounts.append(FileSystemMount("lustre", source, path))
            else:
                mounts.append(FileSystemMount("nfs", f"{config['DnsName']}:{_OPENZFS_ROOT}", path))
    return tuple(mounts)


_WHOLE = 100


def read_software_update(cluster: Cluster, given: Mapping[str, Any]) -> SoftwareUpdate:
    """Return the update of a request that the model allows; raises ValidationException.

    WaitIntervalInSeconds is accepted but ignored: a rehearsal has no traffic to watch.
    """
    refusals = list(_refusals(cluster, given))
    if refusals:
        raise ServiceError("ValidationException", "; ".join(refusals))
    policy = given.get("DeploymentConfig", {}).get("RollingUpdatePolicy", {})
    batch = _batch(policy.get("MaximumBatchSize"), ALL_AT_ONCE)
    return SoftwareUpdate(
        groups=tuple(_named(given)) or tuple(group.name for group in cluster.groups),
        batch=batch,
        rollback_batch=_batch(policy.get("RollbackMaximumBatchSize"), batch),
    )


def _refusals(cluster: Cluster, given: Mapping[str, Any]) -> Iterator[str]:
    existing = {group.name for group in cluster.groups}
    for name in _named(given):
        if name not in existing:
            yield f"Instance group {name} does not exist in cluster {cluster.name}"
    if "ImageId" not in given:
        yield from _custom_images(cluster, _named(given) or existing)
    for group in given.get("InstanceGroups", []):
        if "ImageReleaseVersion" in group:
            yield "ImageReleaseVersion is not supported by the embedded AWS"
    config = given.get("DeploymentConfig", {})
    if "AutoRollbackConfiguration" in config:
        yield "AutoRollbackConfiguration is not supported by the embedded AWS"
    for size in config.get("RollingUpdatePolicy", {}).values():
        if size["Type"] == "CAPACITY_PERCENTAGE" and size["Value"] > _WHOLE:
            yield f"A batch cannot be {size['Value']} % of the cluster's instances"


def _custom_images(cluster: Cluster, names: Collection[str]) -> Iterator[str]:
    """Yield the groups with a custom AMI, for which ImageId is required (API reference)."""
    for group in cluster.groups:
        if group.name in names and (group.image_id or "").startswith("ami-"):
            yield f"ImageId is required: instance group {group.name} uses a custom AMI"


def _named(given: Mapping[str, Any]) -> list[str]:
    return [group["InstanceGroupName"] for group in given.get("InstanceGroups", [])]


def _batch(given: Mapping[str, Any] | None, otherwise: BatchSize) -> BatchSize:
    if given is None:
        return otherwise
    return BatchSize(given["Value"], is_percentage=given["Type"] == "CAPACITY_PERCENTAGE")
