"""The request for a cluster, group by group."""

from __future__ import annotations

from slurmpod.deploy.cluster_request.members import Request, given, is_configured_by_api
from slurmpod.deploy.cluster_request.references import DatabaseServer, References
from slurmpod.deploy.cluster_request.updates import auto_patch, scheduled_update
from slurmpod.environment.cluster import Group, Role
from slurmpod.resolve import Resolved, ResolvedDatabase, ResolvedGroup

NODE_TYPES = {Role.CONTROLLER: "Controller", Role.LOGIN: "Login", Role.WORKER: "Compute"}
"""SlurmConfig.NodeType by role (API reference, ClusterSlurmConfig)."""

SCRIPT_MEMBERS = {"customer": "OnCreate", "extended": "OnInitComplete"}
"""The member of LifeCycleConfig that names the entry script, by lifecycle mode."""


def cluster_request(resolved: Resolved, references: References) -> Request:
    """Return the request for the whole cluster; raises KeyError for a zone without a subnet."""
    return given(
        ClusterName=resolved.name,
        InstanceGroups=[_group(resolved, group, references) for group in resolved.groups],
        VpcConfig=_vpc_config(references, resolved.network.zone),
        Orchestrator=_orchestrator(resolved, references.database),
        NodeRecovery=resolved.node_recovery,
        NodeProvisioningMode="Continuous" if resolved.continuous else None,
        Tags=[{"Key": key, "Value": value} for key, value in sorted(resolved.tags.items())],
    )


def _vpc_config(references: References, zone: str) -> Request:
    return {
        "SecurityGroupIds": list(references.security_group_ids),
        "Subnets": [references.subnet_ids[zone]],
    }


def _orchestrator(resolved: Resolved, new: DatabaseServer | None) -> Request | None:
    """Return what differs from the defaults; an empty configuration would be refused."""
    if not is_configured_by_api(resolved):
        return None
    slurm = given(
        SlurmConfigStrategy=resolved.slurm.config_strategy,
        AccountingDatabase=_database(resolved.database, new),
    )
    return {"Slurm": slurm} if slurm else None


def _database(database: ResolvedDatabase | None, new: DatabaseServer | None) -> Request | None:
    if database is None:
        return None
    return given(
        Endpoint=new.endpoint if new else database.endpoint,
        Port=database.port,
        Name=database.name,
        SecretArn=new.secret_arn if new else database.secret_arn,
    )


def _group(resolved: Resolved, group: ResolvedGroup, references: References) -> Request:
    settings = group.settings
    is_elsewhere = group.zone != resolved.network.zone
    return given(
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
        ScheduledUpdateConfig=scheduled_update(settings.scheduled_update),
        AutoPatchConfig=auto_patch(settings.auto_patch),
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
    return given(
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
        lustre = given(
            DnsName=references.lustre.dns_name,
            MountName=references.lustre.mount_name,
            MountPath=main.settings.mount_path,
        )
        configs.append({"FsxLustreConfig": lustre})
    if resolved.openzfs and references.openzfs:
        openzfs = given(
            DnsName=references.openzfs.dns_name, MountPath=resolved.openzfs.settings.mount_path
        )
        configs.append({"FsxOpenZfsConfig": openzfs})
    return configs


def _volumes(settings: Group) -> list[Request]:
    """Return the additional volume, and the root volume where its key is chosen."""
    volumes = []
    if settings.volume_gib:
        volumes.append(
            given(VolumeSizeInGB=settings.volume_gib, VolumeKmsKeyId=settings.volume_kms_key_arn)
        )
    if settings.root_volume_kms_key_arn:
        volumes.append({"RootVolume": True, "VolumeKmsKeyId": settings.root_volume_kms_key_arn})
    return [{"EbsVolumeConfig": volume} for volume in volumes]


def _network_interface(settings: Group) -> Request | None:
    interface = settings.network_interface
    return {"InterfaceType": interface} if interface else None
