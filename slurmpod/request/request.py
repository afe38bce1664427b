"""The request for a cluster, group by group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from slurmpod.environment.catalog import instance_types
from slurmpod.environment.cluster import AutoPatch, Group, Role, Rollout, ScheduledUpdate
from slurmpod.environment.lifecycle import LifecycleMode
from slurmpod.request.properties import (
    AccountingDatabase,
    ClusterProperties,
    InstanceGroup,
    cluster_properties,
)
from slurmpod.request.references import References
from slurmpod.resolve import Resolved

if TYPE_CHECKING:
    from slurmpod.request.interfaces import HasSubnetId, LifecycleScripts

Request = dict[str, Any]


def given(**members: Any) -> Request:
    """Return the members with a value; the API accepts no null."""
    return {name: value for name, value in members.items() if value is not None}


def cluster_request(resolved: Resolved, references: References) -> Request:
    """Return the request for the cluster of an environment; raises as `cluster_properties`."""
    return request_for(cluster_properties(resolved, references))


def is_configured_by_api(resolved: Resolved) -> bool:
    """Return whether HyperPod sets up Slurm itself, from the request.

    In customer mode provisioning_parameters.json does, and the request must not repeat it.
    """
    return resolved.lifecycle.mode != "customer"


NODE_TYPES = {Role.CONTROLLER: "Controller", Role.LOGIN: "Login", Role.WORKER: "Compute"}
"""SlurmConfig.NodeType by role (API reference, ClusterSlurmConfig)."""

SCRIPT_MEMBERS: dict[LifecycleMode, str] = {"customer": "OnCreate", "extended": "OnInitComplete"}
"""The member of LifeCycleConfig that names the entry script, by lifecycle mode."""


def request_for(cluster: ClusterProperties) -> Request:
    """Return the request for a whole cluster."""
    return given(
        ClusterName=cluster.name,
        InstanceGroups=[_group(cluster, group) for group in cluster.groups],
        VpcConfig=_vpc_config(cluster, cluster.subnet),
        Orchestrator=_orchestrator(cluster),
        NodeRecovery=cluster.node_recovery,
        NodeProvisioningMode="Continuous" if cluster.provisioning == "continuous" else None,
        Tags=[{"Key": key, "Value": value} for key, value in sorted(cluster.tags.items())],
    )


def _vpc_config(cluster: ClusterProperties, subnet: HasSubnetId) -> Request:
    return {
        "SecurityGroupIds": [group.security_group_id for group in cluster.security_groups],
        "Subnets": [subnet.subnet_id],
    }


def _is_configured_by_api(cluster: ClusterProperties) -> bool:
    """Return whether HyperPod sets up Slurm itself, from the request.

    In customer mode provisioning_parameters.json does, and the request must not repeat it.
    """
    return cluster.mode != "customer"


def _orchestrator(cluster: ClusterProperties) -> Request | None:
    """Return the values that differ from the defaults; an empty configuration would be refused."""
    if not _is_configured_by_api(cluster):
        return None
    slurm = given(
        SlurmConfigStrategy=cluster.config_strategy,
        AccountingDatabase=_database(cluster.accounting_database),
    )
    return {"Slurm": slurm} if slurm else None


def _database(database: AccountingDatabase | None) -> Request | None:
    if database is None:
        return None
    return given(
        Endpoint=database.endpoint,
        Port=database.port,
        Name=database.name,
        SecretArn=database.secret_arn,
    )


def _group(cluster: ClusterProperties, group: InstanceGroup) -> Request:
    settings, by_api = group.settings, _is_configured_by_api(cluster)
    mounts = _file_systems(cluster) if by_api else ()
    return given(
        InstanceGroupName=settings.name,
        InstanceType=settings.instance_type,
        InstanceRequirements=_types(settings),
        InstanceCount=settings.count,
        MinInstanceCount=settings.min_count,
        ThreadsPerCore=_threads_per_core(settings),
        CapacityRequirements=_capacity(settings),
        TrainingPlanArn=settings.training_plan_arn,
        ExecutionRole=group.execution_role.role_arn,
        LifeCycleConfig=_lifecycle(cluster.mode, cluster.lifecycle),
        SlurmConfig=_slurm_config(settings) if by_api else None,
        InstanceStorageConfigs=[*_volumes(group), *mounts] or None,
        OnStartDeepHealthChecks=list(settings.deep_health_checks) or None,
        OverrideVpcConfig=_vpc_config(cluster, group.subnet) if group.subnet else None,
        NetworkInterface=_network_interface(settings),
        ImageId=settings.image_id,
        ScheduledUpdateConfig=scheduled_update(settings.scheduled_update),
        AutoPatchConfig=auto_patch(settings.auto_patch),
    )


def _types(settings: Group) -> Request | None:
    return {"InstanceTypes": list(settings.instance_types)} if settings.instance_types else None


def _threads_per_core(settings: Group) -> int | None:
    """Return the user's choice, or the default of a single type; otherwise EC2 decides."""
    types = (settings.instance_type,) if settings.instance_type else settings.instance_types
    facts = instance_types().get(types[0]) if len(types) == 1 else None
    if settings.threads_per_core is None and facts:
        return facts.default_threads_per_core
    return settings.threads_per_core


def _capacity(settings: Group) -> Request | None:
    kinds: dict[str, Request] = {"spot": {"Spot": {}}, "on_demand": {"OnDemand": {}}}
    return kinds[settings.capacity] if settings.capacity else None


def _lifecycle(mode: LifecycleMode, scripts: LifecycleScripts | None) -> Request | None:
    if scripts is None or mode == "managed":
        return None
    return {"SourceS3Uri": scripts.source_s3_uri, SCRIPT_MEMBERS[mode]: scripts.entry_script}


def _slurm_config(settings: Group) -> Request:
    return given(
        NodeType=NODE_TYPES[settings.role],
        PartitionNames=[settings.partition] if settings.partition else None,
    )


def _volumes(group: InstanceGroup) -> Iterator[Request]:
    """Yield the additional volume, and the root volume if its key is chosen."""
    settings = group.settings
    key = group.volume_key.key_arn if group.volume_key else settings.volume_kms_key_arn
    if settings.volume_gib:
        volume = given(VolumeSizeInGB=settings.volume_gib, VolumeKmsKeyId=key)
        yield {"EbsVolumeConfig": volume}
    root_key = settings.root_volume_kms_key_arn
    if group.root_volume_key:
        root_key = group.root_volume_key.key_arn
    if root_key:
        yield {"EbsVolumeConfig": {"RootVolume": True, "VolumeKmsKeyId": root_key}}


def _file_systems(cluster: ClusterProperties) -> Iterator[Request]:
    """Yield the file systems that HyperPod mounts."""
    if cluster.lustre:
        lustre = {
            "DnsName": cluster.lustre.dns_name,
            "MountName": cluster.lustre.mount_name,
            "MountPath": cluster.lustre.mount_path,
        }
        yield {"FsxLustreConfig": lustre}
    if cluster.openzfs:
        openzfs = {"DnsName": cluster.openzfs.dns_name, "MountPath": cluster.openzfs.mount_path}
        yield {"FsxOpenZfsConfig": openzfs}


def _network_interface(settings: Group) -> Request | None:
    interface = settings.network_interface
    return {"InterfaceType": interface} if interface else None


def scheduled_update(update: ScheduledUpdate | None) -> Request | None:
    """Return the update schedule of a group; None without one."""
    if update is None:
        return None
    return given(ScheduleExpression=update.schedule, DeploymentConfig=_rollout(update.rollout))


def auto_patch(patch: AutoPatch | None) -> Request | None:
    """Return the automatic patching of a group; None if not set."""
    if patch is None:
        return None
    return given(PatchingStrategy=patch.strategy, DeploymentConfig=_rollout(patch.rollout))


def _rollout(rollout: Rollout | None) -> Request | None:
    if rollout is None:
        return None
    alarms = [{"AlarmName": name} for name in rollout.rollback_alarms]
    return given(
        RollingUpdatePolicy=_policy(rollout),
        WaitIntervalInSeconds=rollout.wait_seconds,
        AutoRollbackConfiguration=alarms or None,
    )


def _policy(rollout: Rollout) -> Request | None:
    batch = _batch(rollout.batch_count, rollout.batch_percent)
    if batch is None:
        return None
    return given(
        MaximumBatchSize=batch,
        RollbackMaximumBatchSize=_batch(
            rollout.rollback_batch_count, rollout.rollback_batch_percent
        ),
    )


def _batch(count: int | None, percent: int | None) -> Request | None:
    if count is not None:
        return {"Type": "INSTANCE_COUNT", "Value": count}
    if percent is not None:
        return {"Type": "CAPACITY_PERCENTAGE", "Value": percent}
    return None
