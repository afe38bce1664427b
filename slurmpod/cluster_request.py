"""Resolved -> the CreateCluster request, as plain data in the API's own spelling.

One mapping for everybody: the stack deploys it (the CloudFormation resource has the same members),
and a rule holds it against the API's model before anything costs money. What only a deployment
knows comes in as references: text, or whatever stands for text until then.

Source: SageMaker API reference, CreateCluster; SageMaker HyperPod developer guide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from slurmpod.model.cluster import Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slurmpod.model.cluster import Group
    from slurmpod.model.updates import AutoPatch, Rollout, ScheduledUpdate
    from slurmpod.resolve import Resolved, ResolvedDatabase, ResolvedGroup

Request = dict[str, Any]

NODE_TYPES = {Role.CONTROLLER: "Controller", Role.LOGIN: "Login", Role.WORKER: "Compute"}
"""SlurmConfig.NodeType by role (API reference, ClusterSlurmConfig)."""

SCRIPT_MEMBERS = {"customer": "OnCreate", "extended": "OnInitComplete"}
"""The member of LifeCycleConfig that names the entry script, by lifecycle mode."""


class DatabaseServer(Protocol):
    """How to reach the database server that the environment makes."""

    @property
    def endpoint(self) -> str:
        """DNS name of the server."""

    @property
    def secret_arn(self) -> str:
        """Secret with user name and password."""


class MountTarget(Protocol):
    """Where a file system is mounted from."""

    @property
    def dns_name(self) -> str:
        """Name of the server."""

    @property
    def mount_name(self) -> str:
        """Name of the file system on it."""


@dataclass(frozen=True)
class References:
    """What the cluster refers to and others make.

    `bundle_uri` is None where there are no scripts (managed mode); `subnet_ids` goes by zone.
    `database` is the environment's own server, not one that the user brings.
    """

    execution_role_arns: Mapping[Role, str]
    bundle_uri: str | None
    subnet_ids: Mapping[str, str]
    security_group_ids: Sequence[str]
    lustre: MountTarget | None
    openzfs: MountTarget | None
    database: DatabaseServer | None


def cluster_request(resolved: Resolved, references: References) -> Request:
    """Return the request for the whole cluster; raises KeyError for a zone without a subnet."""
    return _given(
        ClusterName=resolved.name,
        InstanceGroups=[_group(resolved, group, references) for group in resolved.groups],
        VpcConfig=_vpc_config(references, resolved.network.zone),
        Orchestrator=_orchestrator(resolved, references.database),
        NodeRecovery=resolved.node_recovery,
        NodeProvisioningMode="Continuous" if resolved.continuous else None,
        Tags=[{"Key": key, "Value": value} for key, value in sorted(resolved.tags.items())],
    )


def is_configured_by_api(resolved: Resolved) -> bool:
    """Tell whether HyperPod sets up Slurm itself, from the request.

    In customer mode provisioning_parameters.json says the same, and may not say it twice.
    """
    return resolved.lifecycle.mode != "customer"


def _given(**members: Any) -> Request:
    """Return the members that have a value; the API has no null."""
    return {name: value for name, value in members.items() if value is not None}


def _vpc_config(references: References, zone: str) -> Request:
    return {
        "SecurityGroupIds": list(references.security_group_ids),
        "Subnets": [references.subnet_ids[zone]],
    }


def _orchestrator(resolved: Resolved, new: DatabaseServer | None) -> Request | None:
    """Return what differs from the defaults; an empty configuration would be refused."""
    if not is_configured_by_api(resolved):
        return None
    slurm = _given(
        SlurmConfigStrategy=resolved.slurm.config_strategy,
        AccountingDatabase=_database(resolved.database, new),
    )
    return {"Slurm": slurm} if slurm else None


def _database(database: ResolvedDatabase | None, new: DatabaseServer | None) -> Request | None:
    if database is None:
        return None
    return _given(
        Endpoint=new.endpoint if new else database.endpoint,
        Port=database.port,
        Name=database.name,
        SecretArn=new.secret_arn if new else database.secret_arn,
    )


def _group(resolved: Resolved, group: ResolvedGroup, references: References) -> Request:
    settings = group.settings
    is_elsewhere = group.zone != resolved.network.zone
    return _given(
        InstanceGroupName=group.name,
        InstanceType=settings.instance_type,
        InstanceRequirements=_types(settings),
        InstanceCount=group.count,
        MinInstanceCount=settings.min_count,
        ThreadsPerCore=_threads_per_core(group),
        CapacityRequirements=_capacity(settings),
        TrainingPlanArn=settings.training_plan_arn,
        ExecutionRole=references.execution_role_arns[group.role],
        LifeCycleConfig=_lifecycle(resolved, references),
        SlurmConfig=_slurm_config(group) if is_configured_by_api(resolved) else None,
        InstanceStorageConfigs=_storage(resolved, settings, references) or None,
        OnStartDeepHealthChecks=list(settings.deep_health_checks) or None,
        OverrideVpcConfig=_vpc_config(references, group.zone) if is_elsewhere else None,
        NetworkInterface=_network_interface(settings),
        ImageId=settings.image_id,
        ScheduledUpdateConfig=_scheduled_update(settings.scheduled_update),
        AutoPatchConfig=_auto_patch(settings.auto_patch),
    )


def _types(settings: Group) -> Request | None:
    return {"InstanceTypes": list(settings.instance_types)} if settings.instance_types else None


def _threads_per_core(group: ResolvedGroup) -> int | None:
    """Return what the user chose, or what the one type starts with; else EC2 decides."""
    has_one_known_type = len(group.instance_types) == 1 and group.facts
    return group.threads_per_core if has_one_known_type else group.settings.threads_per_core


def _capacity(settings: Group) -> Request | None:
    kinds: dict[str, Request] = {"spot": {"Spot": {}}, "on_demand": {"OnDemand": {}}}
    return kinds[settings.capacity] if settings.capacity else None


def _lifecycle(resolved: Resolved, references: References) -> Request | None:
    member = SCRIPT_MEMBERS.get(resolved.lifecycle.mode)
    if member is None:
        return None
    return {"SourceS3Uri": references.bundle_uri, member: resolved.lifecycle.entry_script}


def _slurm_config(group: ResolvedGroup) -> Request:
    return _given(
        NodeType=NODE_TYPES[group.role],
        PartitionNames=[group.partition] if group.partition else None,
    )


def _storage(resolved: Resolved, settings: Group, references: References) -> list[Request]:
    """Return volumes, and the file systems that HyperPod mounts itself."""
    configs = [*_volumes(settings)]
    if not is_configured_by_api(resolved):
        return configs
    main = resolved.lustre[0] if resolved.lustre else None
    if main and references.lustre:
        lustre = _given(
            DnsName=references.lustre.dns_name,
            MountName=references.lustre.mount_name,
            MountPath=main.settings.mount_path,
        )
        configs.append({"FsxLustreConfig": lustre})
    if resolved.openzfs and references.openzfs:
        openzfs = _given(
            DnsName=references.openzfs.dns_name, MountPath=resolved.openzfs.settings.mount_path
        )
        configs.append({"FsxOpenZfsConfig": openzfs})
    return configs


def _volumes(settings: Group) -> list[Request]:
    """Return the additional volume, and the root volume where its key is chosen."""
    volumes = []
    if settings.volume_gib:
        volumes.append(
            _given(VolumeSizeInGB=settings.volume_gib, VolumeKmsKeyId=settings.volume_kms_key_arn)
        )
    if settings.root_volume_kms_key_arn:
        volumes.append({"RootVolume": True, "VolumeKmsKeyId": settings.root_volume_kms_key_arn})
    return [{"EbsVolumeConfig": volume} for volume in volumes]


def _network_interface(settings: Group) -> Request | None:
    interface = settings.network_interface
    return {"InterfaceType": interface} if interface else None


def _scheduled_update(update: ScheduledUpdate | None) -> Request | None:
    if update is None:
        return None
    return _given(ScheduleExpression=update.schedule, DeploymentConfig=_rollout(update.rollout))


def _auto_patch(patch: AutoPatch | None) -> Request | None:
    if patch is None:
        return None
    return _given(PatchingStrategy=patch.strategy, DeploymentConfig=_rollout(patch.rollout))


def _rollout(rollout: Rollout | None) -> Request | None:
    if rollout is None:
        return None
    alarms = [{"AlarmName": name} for name in rollout.rollback_alarms]
    return _given(
        RollingUpdatePolicy=_policy(rollout),
        WaitIntervalInSeconds=rollout.wait_seconds,
        AutoRollbackConfiguration=alarms or None,
    )


def _policy(rollout: Rollout) -> Request | None:
    batch = _batch(rollout.batch_count, rollout.batch_percent)
    if batch is None:
        return None
    return _given(
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
