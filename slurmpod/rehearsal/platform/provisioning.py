"""provisioning_parameters.json as HyperPod reads it: which instance group is what for Slurm.

The file lies beside the entry script in S3; its keys are those of the HyperPod developer guide.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.platform import ClusterFailed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FILE_NAME = "provisioning_parameters.json"


@dataclass(frozen=True)
class Provisioning:
    """The roles of the instance groups; `partitions` has each worker group's partition."""

    controller_group: str
    login_group: str | None
    partitions: Mapping[str, str]


def read_provisioning(bundle: Mapping[str, bytes], group_names: Iterable[str]) -> Provisioning:
    """Read the bundle's provisioning parameters; raises ClusterFailed where HyperPod would."""
    if FILE_NAME not in bundle:
        raise ClusterFailed(f"{FILE_NAME} is missing beside the lifecycle scripts.")
    try:
        provisioning = _parse(json.loads(bundle[FILE_NAME]))
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


def _parse(document: Any) -> Provisioning:
    return Provisioning(
        controller_group=document["controller_group"],
        login_group=document.get("login_group"),
        partitions={
            group["instance_group_name"]: group["partition_name"]
            for group in document["worker_groups"]
        },
    )
