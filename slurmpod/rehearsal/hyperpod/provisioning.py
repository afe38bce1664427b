"""Roles of instance groups for Slurm: as the API says them, or else a file beside the scripts.

The keys of provisioning_parameters.json are those of the HyperPod developer guide.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embedded_aws.cluster import ClusterFailed, InstanceGroup, NodeType
from slurmpod.rehearsal.hyperpod.bundles import DownloadedBundle

FILE_NAME = "provisioning_parameters.json"
BOTH_CONFIGURATIONS = (
    "The LifeCycleConfig cannot include both a SLURM Orchestrator Config and a "
    f"{FILE_NAME} file simultaneously."
)
"""HyperPod's own words (developer guide, migration to the API)."""
DATABASE_USER = "admin"
"""Who connects to the database of several controllers when the file names nobody."""


@dataclass(frozen=True)
class SharedDatabase:
    """The database that several controllers share; the secret has the user's password."""

    endpoint: str
    secret_arn: str
    user: str
    port: int = 3306


@dataclass(frozen=True)
class Provisioning:
    """The roles of the instance groups; `partitions` has each worker group's partition.

    `file` is the content of provisioning_parameters.json, None where the API says it all.
    """

    controller_group: str
    login_group: str | None
    partitions: Mapping[str, str]
    file: bytes | None = None
    database: SharedDatabase | None = None


def provisioning_of(
    groups: Sequence[InstanceGroup], bundles: Mapping[str, DownloadedBundle]
) -> Provisioning:
    """Return what the groups are for Slurm; raises ClusterFailed where HyperPod would.

    That is when it is said in no place, or in both, or wrongly.
    """
    files = [bundle.files for bundle in bundles.values()]
    if not any(group.slurm for group in groups):
        return read_provisioning(files[0], [group.name for group in groups])
    if any(FILE_NAME in bundle for bundle in files):
        raise ClusterFailed(BOTH_CONFIGURATIONS)
    by_type: dict[NodeType, str] = {}
    partitions = {}
    for group in groups:
        if group.slurm and group.slurm.partition:
            partitions[group.name] = group.slurm.partition
        elif group.slurm:
            by_type[group.slurm.node_type] = group.name
    return Provisioning(
        controller_group=by_type[NodeType.CONTROLLER],
        login_group=by_type.get(NodeType.LOGIN),
        partitions=partitions,
    )


def read_provisioning(bundle: Mapping[str, bytes], group_names: Iterable[str]) -> Provisioning:
    """Read the bundle's provisioning parameters; raises ClusterFailed where HyperPod would."""
    if FILE_NAME not in bundle:
        raise ClusterFailed(f"{FILE_NAME} is missing beside the lifecycle scripts.")
    try:
        provisioning = _parse(bundle[FILE_NAME])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ClusterFailed(f"{FILE_NAME} cannot be read: {error!r}.") from error
    named = {provisioning.controller_group, *provisioning.partitions}
    if provisioning.login_group:
        named.add(provisioning.login_group)
    unknown = sorted(named - set(group_names))
    if unknown:
        raise ClusterFailed(
            f"{FILE_NAME} names instance groups that the cluster does not have: "
            f"{', '.join(unknown)}."
        )
    return provisioning


def _parse(content: bytes) -> Provisioning:
    document = json.loads(content)
    return Provisioning(
        controller_group=document["controller_group"],
        login_group=document.get("login_group"),
        partitions={
            group["instance_group_name"]: group["partition_name"]
            for group in document["worker_groups"]
        },
        file=content,
        database=_database(document.get("slurm_configurations")),
    )


def _database(given: Any) -> SharedDatabase | None:
    if not given:
        return None
    return SharedDatabase(
        endpoint=given["slurm_database_endpoint"],
        secret_arn=given["slurm_database_secret_arn"],
        user=given.get("slurm_database_user", DATABASE_USER),
    )
