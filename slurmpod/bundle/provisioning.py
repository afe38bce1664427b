"""provisioning_parameters.json: what each instance group is, for HyperPod and lifecycle scripts.

Only customer mode has it; else the request to the API says the same, and HyperPod refuses both.
Keys: SageMaker HyperPod developer guide, "Customize SageMaker HyperPod clusters using lifecycle
scripts" and "Setting up multiple controller nodes".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slurmpod.bundle.placeholders import (
    database_endpoint,
    database_secret_arn,
    lustre_address,
    openzfs_dns_name,
)
from slurmpod.environment.cluster import Role
from slurmpod.resolve import Resolved

FILE_NAME = "provisioning_parameters.json"


def provisioning_values(resolved: Resolved) -> Mapping[str, Any]:
    """Return what the template refers to, as plain data.

    Raises ValueError for an environment without exactly one controller group.
    """
    (controller,) = resolved.groups_with(Role.CONTROLLER)
    login = resolved.groups_with(Role.LOGIN)
    return {
        "controller_group": controller.name,
        "login_group": login[0].name if login else None,
        "worker_groups": [
            {"instance_group_name": group.name, "partition_name": group.partition}
            for group in resolved.groups_with(Role.WORKER)
        ],
        "lustre": lustre_address(resolved.lustre[0]) if resolved.lustre else None,
        "openzfs_dns_name": openzfs_dns_name(resolved.openzfs) if resolved.openzfs else None,
        "slurm_configurations": _slurm_configurations(resolved),
    }


def _slurm_configurations(resolved: Resolved) -> Mapping[str, str] | None:
    """Return what several controllers share; None for one controller."""
    multi_head, database = resolved.slurm.multi_head, resolved.database
    if not multi_head or not database:
        return None
    configurations = {
        "slurm_database_secret_arn": database_secret_arn(database),
        "slurm_database_endpoint": database_endpoint(database),
        "slurm_shared_directory": multi_head.shared_directory,
        "slurm_database_user": database.user,
    }
    if multi_head.sns_topic_arn:
        configurations["slurm_sns_arn"] = multi_head.sns_topic_arn
    return configurations
