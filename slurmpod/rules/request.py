"""Rules for the request that makes the cluster: what the model of CreateCluster says of it.

Each member of the request comes from a key of the environment, at which its mistakes are reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from embedded_aws.service_model import violations
from slurmpod.environment.cluster import Role
from slurmpod.environment.facts import facts
from slurmpod.problems import YamlPath
from slurmpod.request import References, cluster_request
from slurmpod.resolve import Resolved
from slurmpod.rules.groups import GROUPS
from slurmpod.rules.registry import LIFECYCLE_MODE, Area, Finding
from slurmpod.value import Value

OF_REQUESTS = (
    *("account", "cluster", "name", "network", "region", "slurm", "storage", "tags"),
    *LIFECYCLE_MODE,
)
"""Sections from which a request follows."""

REQUEST = Area("REQ", "The request to HyperPod", reads=OF_REQUESTS)

JUDGED_ELSEWHERE = frozenset(
    each.checked_against.rpartition(" ")[2]
    for each in facts().values()
    if each.checked_against.startswith("enum sagemaker") and (each.form or each.table)
)
"""Shapes of which other rules say more: HyperPod gets new values more often than slurmpod does."""


@REQUEST.rule(
    "REQ-001",
    "CreateCluster accepts the request",
    why="The request that the deployment would send is checked against the model that AWS "
    "publishes of this API: types, lengths, ranges, patterns and allowed values.",
    fix="write a value that CreateCluster accepts",
    source="https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_CreateCluster.html",
)
def _is_accepted(resolved: Resolved) -> Iterator[Finding]:
    request = cluster_request(resolved, neutral_references(resolved))
    for violation in violations(create_cluster_shapes(), CREATE_CLUSTER_INPUT, request):
        if violation.shape in JUDGED_ELSEWHERE:
            continue
        member = next(part for part in reversed(violation.path) if isinstance(part, str))
        constraint = violation.constraint.removeprefix("Member ")
        shown = "nothing" if violation.value is None else repr(violation.value)
        message = f"CreateCluster takes no {shown} for {member}: it {constraint}"
        yield Finding(place_of(violation.path), message)


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


class NeutralMountTarget(Value):
    """A file system that is not there yet."""

    dns_name: str
    mount_name: str = "abcdefgh"


class NeutralDatabase(Value):
    """A database server that is not there yet."""

    endpoint: str
    secret_arn: str


def neutral_references(resolved: Resolved) -> References:
    """Return references that no rule objects to, as many as there will be."""
    zones = {resolved.network.zone, *(group.zone for group in resolved.groups)}
    existing = resolved.network.existing
    groups = existing.security_group_ids if existing else ()
    target = NeutralMountTarget(f"fs-0123456789abcdef0.fsx.{resolved.region}.amazonaws.com")
    role = f"arn:{resolved.aws_partition}:iam::{resolved.account}:role/example"
    return References(
        execution_role_arns=dict.fromkeys(Role, role),
        bundle_uri=f"s3://{resolved.lifecycle.bucket}/{resolved.lifecycle.prefix}/0123456789ab",
        subnet_ids=dict.fromkeys(zones, "subnet-0123456789abcdef0"),
        security_group_ids=groups or ("sg-0123456789abcdef0",),
        lustre=target if resolved.lustre else None,
        openzfs=target if resolved.openzfs else None,
        database=_database(resolved),
    )


def _database(resolved: Resolved) -> NeutralDatabase | None:
    if resolved.database is None or resolved.database.new is None:
        return None
    return NeutralDatabase(
        endpoint=f"example.abcdefghijkl.{resolved.region}.rds.amazonaws.com",
        secret_arn=resolved.arn("secretsmanager", "secret:rds!db-example-AbCdEf"),
    )


CREATE_CLUSTER = Path(__file__).parents[1] / "data" / "create_cluster_shape.json"
"""The model of the request, so that offline rules need no SDK."""
CREATE_CLUSTER_INPUT = "CreateClusterRequest"


@cache
def create_cluster_shapes() -> Mapping[str, Any]:
    """Return the shapes that a CreateCluster request consists of."""
    shapes: dict[str, Any] = from_json(CREATE_CLUSTER.read_bytes())
    return shapes
