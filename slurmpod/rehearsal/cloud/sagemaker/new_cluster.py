"""A cluster as it is when CreateCluster has just been accepted."""

from __future__ import annotations

import secrets
import string
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.platform import Cluster, NodeType
from slurmpod.rehearsal.cloud.sagemaker.requests import (
    read_groups,
    read_settings,
    read_vpc_config,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slurmpod.rehearsal.cloud.clients import Clients
    from slurmpod.rehearsal.cloud.platform import ClusterNetwork, InstanceGroup

_ID_LENGTH = 12


def new_cluster(aws: Clients, request: Mapping[str, Any], network: ClusterNetwork) -> Cluster:
    """Return the cluster that a request, which was checked, asks for; it has no nodes yet."""
    alphabet = string.ascii_lowercase + string.digits
    cluster_id = "".join(secrets.choice(alphabet) for _ in range(_ID_LENGTH))
    groups = read_groups(request)
    return Cluster(
        name=request["ClusterName"],
        arn=f"arn:{aws.partition}:sagemaker:{aws.region}:{aws.account}:cluster/{cluster_id}",
        id=cluster_id,
        groups=groups,
        settings=read_settings(request, cluster_id),
        vpc_config=read_vpc_config(request["VpcConfig"]),
        network=network,
        created_at=datetime.now(UTC),
        request=request,
        tags={tag["Key"]: tag["Value"] for tag in request.get("Tags", [])},
        controller_group=_controller_group(groups),
    )


def _controller_group(groups: Iterable[InstanceGroup]) -> str:
    """Return the controllers' group if the API says which; a file beside the scripts may, too."""
    roles = {group.slurm.node_type: group.name for group in groups if group.slurm}
    return roles.get(NodeType.CONTROLLER, "")
