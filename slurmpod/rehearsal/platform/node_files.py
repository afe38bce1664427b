"""The files that HyperPod puts on nodes: /opt/ml/config, after hyperpod's node contract."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slurmpod.rehearsal.cloud.platform import Cluster, ClusterNode, InstanceGroup

CONFIG_FOLDER = "/opt/ml/config"
RESOURCE_CONFIG = f"{CONFIG_FOLDER}/resource_config.json"
PROVISIONING_PARAMETERS = f"{CONFIG_FOLDER}/provisioning_parameters.json"


def resource_config(cluster: Cluster) -> bytes:
    """Return resource_config.json: the cluster, its groups, and the instances there are now.

    A group without instances has `null` for them, as observed on real clusters.
    """
    document = {
        "ClusterConfig": {
            "ClusterArn": cluster.arn,
            "ClusterName": cluster.name,
            "ClusterType": "Slurm",
        },
        "InstanceGroups": [_group(group, cluster.nodes) for group in cluster.groups],
    }
    return json.dumps(document, indent=2).encode()


def _group(group: InstanceGroup, nodes: list[ClusterNode]) -> dict[str, Any]:
    members = [node for node in nodes if node.group == group.name]
    instances = [
        {
            "InstanceName": f"{group.name}-{number}",
            "AgentIpAddress": node.private_ip,
            "CustomerIpAddress": node.private_ip,
            "InstanceId": node.instance_id,
        }
        for number, node in enumerate(members, start=1)
    ]
    return {
        "Name": group.name,
        "InstanceType": group.instance_type,
        "Instances": instances or None,
    }
