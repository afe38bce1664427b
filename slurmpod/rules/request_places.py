"""From a member of the CreateCluster request to the line of the environment that it comes from."""

from __future__ import annotations

from collections.abc import Mapping

from slurmpod.problems import YamlPath
from slurmpod.rules.groups import GROUPS

_OF_CLUSTER = {
    "ClusterName": "name",
    "NodeProvisioningMode": "cluster provisioning",
    "NodeRecovery": "cluster node_recovery",
    "Orchestrator.Slurm.AccountingDatabase": "slurm accounting_database",
    "Orchestrator.Slurm.AccountingDatabase.Endpoint": "slurm accounting_database endpoint",
    "Orchestrator.Slurm.AccountingDatabase.Name": "slurm accounting_database name",
    "Orchestrator.Slurm.AccountingDatabase.Port": "slurm accounting_database port",
    "Orchestrator.Slurm.AccountingDatabase.SecretArn": "slurm accounting_database secret_arn",
    "Orchestrator.Slurm.SlurmConfigStrategy": "slurm config_strategy",
    "Tags": "tags",
    "VpcConfig": "network",
}
"""Members of the request, and the keys from the top of the environment."""

_ELSEWHERE = {
    "InstanceStorageConfigs.FsxLustreConfig": "storage lustre mount_path",
    "InstanceStorageConfigs.FsxOpenZfsConfig": "storage openzfs mount_path",
    "LifeCycleConfig.OnCreate": "lifecycle entry_script",
    "LifeCycleConfig.OnInitComplete": "lifecycle entry_script",
    "LifeCycleConfig": "lifecycle",
}
"""Members of every group that come from one place in the environment."""

_OF_GROUP = {
    "AutoPatchConfig": "auto_patch",
    "AutoPatchConfig.DeploymentConfig": "auto_patch rollout",
    "AutoPatchConfig.DeploymentConfig.AutoRollbackConfiguration": (
        "auto_patch rollout rollback_alarms"
    ),
    "CapacityRequirements": "capacity",
    "ImageId": "image_id",
    "InstanceCount": "count",
    "InstanceGroupName": "name",
    "InstanceRequirements": "instance_types",
    "InstanceStorageConfigs.EbsVolumeConfig.VolumeSizeInGB": "volume_gib",
    "InstanceType": "instance_type",
    "MinInstanceCount": "min_count",
    "NetworkInterface": "network_interface",
    "OnStartDeepHealthChecks": "deep_health_checks",
    "OverrideVpcConfig": "zone",
    "ScheduledUpdateConfig": "scheduled_update",
    "ScheduledUpdateConfig.DeploymentConfig": "scheduled_update rollout",
    "ScheduledUpdateConfig.DeploymentConfig.AutoRollbackConfiguration": (
        "scheduled_update rollout rollback_alarms"
    ),
    "ScheduledUpdateConfig.ScheduleExpression": "scheduled_update schedule",
    "SlurmConfig.NodeType": "role",
    "SlurmConfig.PartitionNames": "partition",
    "ThreadsPerCore": "threads_per_core",
    "TrainingPlanArn": "training_plan_arn",
}
"""Members of a group, and the keys within the group of the environment."""

_LISTS = frozenset({"deep_health_checks", "instance_types", "rollback_alarms"})
"""Keys whose entries are in the same order in the request."""


def place_of(path: tuple[str | int, ...]) -> YamlPath:
    """Return where a member comes from; the group or the top where no key is its only origin."""
    members = ".".join(part for part in path if isinstance(part, str))
    indexes = [part for part in path if isinstance(part, int)]
    if path[0] != "InstanceGroups":
        return _nearest(_OF_CLUSTER, members)
    if not indexes:
        return GROUPS
    members = members.removeprefix("InstanceGroups").removeprefix(".")
    elsewhere = _nearest(_ELSEWHERE, members)
    if elsewhere:
        return elsewhere
    found = _nearest(_OF_GROUP, members)
    entry = indexes[1:2] if found and found[-1] in _LISTS else []
    return (*GROUPS, indexes[0], *found, *entry)


def _nearest(table: Mapping[str, str], members: str) -> YamlPath:
    """Return the entry for the member, or for the nearest one that it is part of."""
    while members:
        if members in table:
            return tuple(table[members].split())
        members = members.rpartition(".")[0]
    return ()
